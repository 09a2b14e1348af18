// SPDX-License-Identifier: BSD-3-Clause
// A lock that costs nothing to whoever is alone: what a program pays that never calls from two threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/base/lock.hpp"

namespace shim::base {

/// Meets the standard library's Lockable; use std::lock_guard and std::unique_lock with it. Not recursive.
///
/// It belongs to the first thread that takes it, which takes it with three loads and a store, no locked instruction among them. When a
/// second thread wants it, it becomes an ordinary Lock: the second thread says so, has the kernel put a memory barrier into
/// every running thread of the process (membarrier(2), private expedited), and waits until the first is out. When the first has taken it
/// so many times with none in between that such a barrier is little beside them, it is its own again. Nobody else's ever: who owned it
/// before might still stand between its look at whose it is and its entry. Where the kernel has no such barrier, it is an ordinary Lock
/// from the beginning.
class BiasedLock {
 public:
  void lock() noexcept {
    if (!is_shared_.load(std::memory_order_acquire) && owner_.load(std::memory_order_relaxed) == this_thread()) [[likely]] {
      inside_.store(true, std::memory_order_relaxed);
      // The store above comes before the load below: by this for the compiler, and for the processor by the barrier in share().
      // Either this thread sees that the lock is shared, or the other one sees that it is inside.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!is_shared_.load(std::memory_order_acquire)) [[likely]] return;  // pairs with the store in share()
      inside_.store(false, std::memory_order_release);
    }
    lock_slowly();
  }

  /// False where another thread is inside. One that shares the lock by this waits all the same until its owner is out.
  bool try_lock() noexcept;

  void unlock() noexcept {
    // relaxed: true is seen by the owner alone, who wrote it
    if (inside_.load(std::memory_order_relaxed) && owner_.load(std::memory_order_relaxed) == this_thread()) [[likely]] {
      inside_.store(false, std::memory_order_release);  // pairs with the load in share()
    } else {
      lock_.unlock();
    }
  }

  /// Called by a thread that is not inside and will not come again, where others are to come: if it owns the lock, the next thread
  /// that takes it does from then on.
  void change_hands() noexcept;

  /// Times in a row after which a shared one is its first thread's again.
  static constexpr std::uint32_t kTimesUntilOwned = 1 << 14;

  /// Is it an ordinary Lock by now, or is there no barrier? For tests and reports.
  bool is_shared() const noexcept { return is_shared_.load(std::memory_order_relaxed); }

 private:
  /// Where the thread keeps what is its own: different for all that live.
  static void* this_thread() noexcept { return __builtin_thread_pointer(); }
  void lock_slowly() noexcept;
  void share() noexcept;
  void share_or_own() noexcept;

  std::atomic<void*> owner_{};          ///< the first thread, or one that the system gives its place to after its end; see share()
  std::atomic<bool> inside_{false};     ///< the owner is, without lock_
  std::atomic<bool> is_shared_{false};  ///< written under lock_
  Lock lock_;                           ///< held by whoever is inside once it is shared
  std::uint32_t times_ = 0;             ///< that it was taken while shared, in a row, under lock_ …
  void* taker_ = nullptr;               ///< … by this thread
};

}  // namespace shim::base
