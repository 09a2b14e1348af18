// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include "cluster.hpp"

namespace shim::sessions::testing {

/// A forked process that begins a session and waits to be killed. Construct it before any thread.
class Victim {
 public:
  /// @param publishes publish the address of the process for other nodes
  Victim(Cluster& cluster, int rank, bool publishes = false);
  ~Victim() { end(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  void end();

 private:
  pid_t child_ = 0;
};

}  // namespace shim::sessions::testing
