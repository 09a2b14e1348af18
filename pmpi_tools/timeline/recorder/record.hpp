// SPDX-License-Identifier: BSD-3-Clause
// Records calls and phases. Each record is written at once, so the file has it however the process
// ends.
#pragma once

#include <cstdint>

#include "shim/intercept/phases.h"

namespace timeline {

/// Return CLOCK_MONOTONIC in nanoseconds.
std::int64_t now_ns();

/// A call of an MPI function, from construction to ended().
class Call {
 public:
  /// kind: as in calls.txt. text: value of the recorded parameter, or null.
  Call(const char* name, const char* kind, const char* text);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// Record the end of the call and return the code.
  int ended(int code) const;

 private:
  const char* name_;
  std::uint64_t number_;
};

void record(const intersession_phase_event& event);

}  // namespace timeline
