// SPDX-License-Identifier: BSD-3-Clause
// CallerThreads records which threads of a process create communicators, and when.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

#include "shim/base/clock.hpp"

namespace shim::sessions {

/// Thread-safe.
class CallerThreads {
 public:
  /// Record that the calling thread begins to create a communicator.
  void record_call() {
    std::lock_guard guard(mutex_);
    last_call_ = base::now_ns();
    if (!first_) first_ = std::this_thread::get_id();
    if (*first_ != std::this_thread::get_id()) are_several_ = true;
  }
  /// True if more than one thread has created communicators.
  bool are_several() const {
    std::lock_guard guard(mutex_);
    return are_several_;
  }
  /// Return the time since a thread last began to create a communicator.
  base::Nanoseconds quiet_for() const {
    std::lock_guard guard(mutex_);
    return std::max<base::Nanoseconds>(base::now_ns() - last_call_, 0);
  }

 private:
  mutable std::mutex mutex_;  ///< guards all members below
  std::optional<std::thread::id> first_;
  bool are_several_ = false;
  base::Nanoseconds last_call_ = 0;
};

}  // namespace shim::sessions
