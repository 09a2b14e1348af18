// SPDX-License-Identifier: BSD-3-Clause
// Lock is a spin lock that yields, for critical sections of nanoseconds. Threads may outnumber
// cores.
#pragma once

#include <sched.h>

#include <atomic>

#include "shim/base/spin_pause.hpp"

namespace shim::base {

/// Lockable in the standard library's sense; use std::lock_guard or std::unique_lock. Not
/// recursive. Uncontended cost: one atomic exchange to lock, one store to unlock.
class Lock {
 public:
  void lock() noexcept {
    // acquire: pairs with the release in unlock(), so that the last holder's writes are visible
    while (taken_.exchange(true, std::memory_order_acquire)) wait_until_free();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait_until_free() noexcept {
    for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins < 64)
        spin_pause();
      else
        sched_yield();  // the holder may be preempted
    }
  }
  std::atomic<bool> taken_{false};
};

}  // namespace shim::base
