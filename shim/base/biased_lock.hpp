// SPDX-License-Identifier: BSD-3-Clause
// BiasedLock is a lock that is almost free while one thread alone uses it.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/base/lock.hpp"
#include "shim/base/older_compilers.hpp"

namespace shim::base {

/// Lockable in the standard library's sense; use std::lock_guard or std::unique_lock. Not
/// recursive.
///
/// The lock is biased to its *owner*, the first thread that locks it. The owner acquires it with
/// three loads and a store, without a locked instruction, and is *inside* until it releases it.
/// When a second thread acquires the lock, the lock becomes *shared*, that is, an ordinary Lock:
/// the second thread sets is_shared_, issues a memory barrier on all running threads of the process
/// (membarrier(2), private expedited), and waits until the owner is no longer inside. After
/// kTimesUntilOwned acquisitions in a row by the owner, which amortize another barrier, the lock is
/// biased to it again. The lock is never biased to another thread instead, because the owner may be
/// preempted in lock() between its check of owner_ and its store to inside_. Without kernel support
/// for the barrier, the lock is shared from the start. See docs/decisions/0034-biased-lock.md.
class BiasedLock {
 public:
  [[gnu::always_inline]] void lock() noexcept {
    if (!is_shared_.load(std::memory_order_acquire) &&
        owner_.load(std::memory_order_relaxed) == this_thread()) [[likely]] {
      inside_.store(true, std::memory_order_relaxed);
      // The store above precedes the load below: for the compiler by this fence, for the processor
      // by the barrier in share(). Either this thread sees that the lock is shared, or the sharing
      // thread sees that this thread is inside.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!is_shared_.load(std::memory_order_acquire)) [[likely]]
        return;  // pairs with the store in share()
      inside_.store(false, std::memory_order_release);
    }
    lock_slowly();
  }

  /// Return false if another thread holds the shared lock. May block: if this call makes the lock
  /// shared, it waits until the owner is no longer inside. A call on a lock without an owner makes
  /// it shared for good.
  bool try_lock() noexcept;

  [[gnu::always_inline]] void unlock() noexcept {
    // relaxed: only the owner passes both checks, and it wrote inside_ itself
    if (inside_.load(std::memory_order_relaxed) &&
        owner_.load(std::memory_order_relaxed) == this_thread()) [[likely]] {
      inside_.store(false, std::memory_order_release);  // pairs with the load in share()
    } else {
      lock_.unlock();
    }
  }

  /// Give up ownership: the next thread that calls lock() becomes the owner, unless the lock is
  /// shared, which it then remains. The caller does not hold the lock and will not acquire it
  /// again. No effect if the caller is not the owner.
  void release_ownership() noexcept;

  /// Acquisitions in a row by the owner after which a shared lock is biased to it again.
  static constexpr std::uint32_t kTimesUntilOwned = 1 << 14;

  /// True if the lock is shared at present. For tests and reports.
  bool is_shared() const noexcept { return is_shared_.load(std::memory_order_relaxed); }

 private:
  /// Return the thread pointer, which differs between all live threads.
  static void* this_thread() noexcept { return thread_pointer(); }
  void lock_slowly() noexcept;
  void share() noexcept;
  void share_or_own() noexcept;

  /// thread pointer of the owner, which a later thread may reuse and is then the owner; null: none
  /// yet, or it gave up ownership; &owner_: none, and none will follow (share())
  std::atomic<void*> owner_{};
  std::atomic<bool> inside_{false};     ///< the owner holds the lock without lock_
  std::atomic<bool> is_shared_{false};  ///< written under lock_
  Lock lock_;                           ///< held by any thread that acquired the shared lock
  std::uint32_t times_ = 0;             ///< acquisitions of lock_ in a row; under lock_
  void* taker_ = nullptr;               ///< thread of these acquisitions; under lock_
};

}  // namespace shim::base
