// SPDX-License-Identifier: BSD-3-Clause
// A lock for very short sections that many more processes than cores may share: spins a little, then yields.
#pragma once

#include <sched.h>

#include <atomic>

namespace shim::base {

/// Meets the standard library's Lockable; use std::lock_guard and std::unique_lock with it.
/// Not recursive. Uncontended cost: one atomic exchange to take, one store to give back.
class Lock {
 public:
  void lock() noexcept {
    // acquire: pairs with the release in unlock(), so that what the last owner wrote is seen
    while (taken_.exchange(true, std::memory_order_acquire)) wait_until_free();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait_until_free() noexcept {
    for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins < 64) __builtin_ia32_pause();
      else sched_yield();  // the owner may be without a core
    }
  }
  std::atomic<bool> taken_{false};
};

}  // namespace shim::base
