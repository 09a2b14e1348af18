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

#include "shim/base/spin_pause.hpp"

namespace shim::base {

namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

bool has_barrier() {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

// Issue a memory barrier on all running threads of this process. Registers for it on each call and
// not earlier, because registration may take milliseconds in a process with several threads, and
// most programs never share a lock. Aborts if the kernel refuses.
void put_barrier_into_all_threads() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
    return;
  if (membarrier(MEMBARRIER_CMD_GLOBAL) == 0) return;
  std::perror(
      "intersession: membarrier(2) is available but failed; allow this system call in the seccomp "
      "filter");
  std::abort();
}

/// Acquire a lock that many threads may wait for. If its holder is preempted, waiting threads that
/// only yield to each other keep the holder off the core for milliseconds. So a thread sleeps after
/// some yields.
void take(Lock& lock) noexcept {
  constexpr int kSpins = 64, kYields = 16;
  constexpr long kShortestNapNs = 50'000, kMaxNapNs = 1'000'000;
  timespec nap{0, kShortestNapNs};
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries < kSpins) {
      spin_pause();
    } else if (tries < kSpins + kYields) {
      sched_yield();
    } else {
      nanosleep(&nap, nullptr);
      nap.tv_nsec = std::min(2 * nap.tv_nsec, kMaxNapNs);
    }
  }
}

}  // namespace

void BiasedLock::lock_slowly() noexcept {
  void* no_owner = nullptr;
  if (!is_shared_.load(std::memory_order_relaxed) &&
      owner_.load(std::memory_order_relaxed) == no_owner && has_barrier() &&
      owner_.compare_exchange_strong(
          no_owner, this_thread(),
          std::memory_order_acquire)) {  // pairs with release_ownership()
    return lock();                       // this thread is the owner now
  }
  take(lock_);
  share_or_own();
}

/// Make the lock shared if it is biased; or bias it to its owner again if the owner has acquired it
/// often enough in a row. The caller holds lock_, and unlock() releases only lock_.
void BiasedLock::share_or_own() noexcept {
  if (!is_shared_.load(std::memory_order_relaxed)) share();
  if (taker_ != this_thread()) {
    taker_ = this_thread();
    times_ = 0;
  }
  if (++times_ < kTimesUntilOwned || owner_.load(std::memory_order_relaxed) != this_thread())
    return;
  times_ = 0;
  // release: pairs with the loads in lock(). The next other thread waits for lock_, which this
  // thread still holds, and then makes the lock shared again.
  is_shared_.store(false, std::memory_order_release);
}

bool BiasedLock::try_lock() noexcept {
  if (!is_shared_.load(std::memory_order_acquire) &&
      owner_.load(std::memory_order_relaxed) == this_thread()) {
    lock();  // waits only if another thread makes the lock shared meanwhile
    return true;
  }
  if (!lock_.try_lock()) return false;
  share_or_own();
  return true;
}

void BiasedLock::release_ownership() noexcept {
  void* self = this_thread();
  // release: the next owner sees this thread's writes. If another thread is in share(), its barrier
  // also reaches the next owner.
  owner_.compare_exchange_strong(self, nullptr, std::memory_order_release,
                                 std::memory_order_relaxed);
}

void BiasedLock::share() noexcept {
  is_shared_.store(true, std::memory_order_release);  // pairs with the loads in lock()
  void* no_owner = nullptr;  // without an owner no thread is inside; &owner_: none will follow
  if (owner_.compare_exchange_strong(no_owner, &owner_, std::memory_order_acquire))
    return;  // pairs with release_ownership()
  put_barrier_into_all_threads();
  while (inside_.load(std::memory_order_acquire)) sched_yield();  // pairs with unlock()
}

}  // namespace shim::base
