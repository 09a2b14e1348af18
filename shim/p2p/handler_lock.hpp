// SPDX-License-Identifier: BSD-3-Clause
// HandlerLock serializes control handlers, which run without the engine's lock.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

namespace shim::p2p {

/// Acquired by std::unique_lock with std::try_to_lock.
class HandlerLock {
 public:
  bool try_lock() {
    // acquire: pairs with the release in unlock() of the previous thread
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    // relaxed: a thread compares it with its own id only, which no other thread writes
    by_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    by_.store(std::thread::id(), std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);  // pairs with the acquires in try_lock() and
                                                     // wait_for_others()
  }
  /// Wait until no other thread holds the lock; does not wait for the calling thread.
  void wait_for_others() const {
    while (taken_.load(std::memory_order_acquire) &&
           by_.load(std::memory_order_relaxed) != std::this_thread::get_id())
      sched_yield();
  }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<std::thread::id> by_{};
};

}  // namespace shim::p2p
