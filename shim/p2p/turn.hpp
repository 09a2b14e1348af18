// SPDX-License-Identifier: BSD-3-Clause
// Work that any thread may do, but only one at a time, and without the engine's lock.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

namespace shim::p2p {

class Turn {
 public:
  bool try_take() {
    // acquire: pairs with give_back() of the thread before
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    // relaxed: read for its own id only, which this thread alone writes
    by_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void give_back() {
    by_.store(std::thread::id(), std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);  // pairs with the acquires in try_take() and wait_for_others()
  }
  /// Returns when no other thread is at it. A thread that is at it itself does not wait for itself.
  void wait_for_others() const {
    while (taken_.load(std::memory_order_acquire) && by_.load(std::memory_order_relaxed) != std::this_thread::get_id()) sched_yield();
  }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<std::thread::id> by_{};
};

}  // namespace shim::p2p
