// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/biased_lock.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace shim::base {

namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

bool has_barrier() {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

// Registered only here, because that may take the kernel milliseconds once there are threads, and most programs never get here.
void put_barrier_into_all_threads() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  if (membarrier(MEMBARRIER_CMD_GLOBAL) == 0) return;
  std::perror("intersession: membarrier(2) is there and refused; let the filter of system calls allow it");
  std::abort();
}

/// Takes a lock that many threads may wait for. The owner may have lost its core inside: threads that yield to each other in turn keep it
/// from getting one, for milliseconds (docs/measurements.md, "Many threads"), so a thread that has yielded in vain sleeps.
void take(Lock& lock) noexcept {
  constexpr int kSpins = 64, kYields = 16;
  constexpr long kShortestNapNs = 50'000, kLongestNapNs = 1'000'000;
  timespec nap{0, kShortestNapNs};
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries < kSpins) {
      __builtin_ia32_pause();
    } else if (tries < kSpins + kYields) {
      sched_yield();
    } else {
      nanosleep(&nap, nullptr);
      nap.tv_nsec = std::min(2 * nap.tv_nsec, kLongestNapNs);
    }
  }
}

}  // namespace

void BiasedLock::lock_slowly() noexcept {
  void* nobody = nullptr;
  if (!is_shared_.load(std::memory_order_relaxed) && owner_.load(std::memory_order_relaxed) == nobody && has_barrier() &&
      owner_.compare_exchange_strong(nobody, this_thread(), std::memory_order_acquire)) {  // pairs with change_hands()
    return lock();  // whose it is now
  }
  take(lock_);
  share_or_own();
}

/// By one who holds lock_, and gives back that and nothing else when it goes.
void BiasedLock::share_or_own() noexcept {
  if (!is_shared_.load(std::memory_order_relaxed)) share();
  if (taker_ != this_thread()) {
    taker_ = this_thread();
    times_ = 0;
  }
  if (++times_ < kTimesUntilOwned || owner_.load(std::memory_order_relaxed) != this_thread()) return;
  times_ = 0;
  // release: pairs with the loads in lock(). Whoever else comes next waits for lock_, and then shares it anew.
  is_shared_.store(false, std::memory_order_release);
}

bool BiasedLock::try_lock() noexcept {
  if (!is_shared_.load(std::memory_order_acquire) && owner_.load(std::memory_order_relaxed) == this_thread()) {
    lock();  // in which only others' sharing of the lock can keep us, for a moment
    return true;
  }
  if (!lock_.try_lock()) return false;
  share_or_own();
  return true;
}

void BiasedLock::change_hands() noexcept {
  void* self = this_thread();
  // release: what this thread has done inside is seen by the next owner. If the lock is just being shared, the barrier reaches that one.
  owner_.compare_exchange_strong(self, nullptr, std::memory_order_release, std::memory_order_relaxed);
}

void BiasedLock::share() noexcept {
  is_shared_.store(true, std::memory_order_release);  // pairs with the loads in lock()
  void* nobody = nullptr;  // no owner, and no one can become it
  if (owner_.compare_exchange_strong(nobody, &owner_, std::memory_order_acquire)) return;  // pairs with change_hands()
  put_barrier_into_all_threads();
  while (inside_.load(std::memory_order_acquire)) sched_yield();  // pairs with unlock()
}

}  // namespace shim::base
