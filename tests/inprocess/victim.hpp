// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include "cluster.hpp"

namespace shim::sessions::testing {

/// A process of its own, which begins a session and then waits to be killed. Made before any thread.
class Victim {
 public:
  /// publishes: its address, for other nodes.
  Victim(Cluster& cluster, int rank, bool publishes = false);
  ~Victim() { end(); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  void end();

 private:
  pid_t child_ = 0;
};

}  // namespace shim::sessions::testing
