// SPDX-License-Identifier: BSD-3-Clause
// What happens is written at once, a line each, so that it is in the file however the process ends.
#pragma once

#include <cstdint>

#include "shim/intercept/phases.h"

namespace timeline {

/// CLOCK_MONOTONIC, nanoseconds.
std::int64_t now_ns();

/// One call of an MPI function, from construction to ended().
class Call {
 public:
  /// kind: of calls.txt. text: of the parameter that is recorded, or null.
  Call(const char* name, const char* kind, const char* text);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  /// Hands the code on.
  int ended(int code) const;

 private:
  const char* name_;
  std::uint64_t number_;
};

void record(const intersession_phase_event& event);

}  // namespace timeline
