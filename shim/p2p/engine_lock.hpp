// SPDX-License-Identifier: BSD-3-Clause
// EngineLock is the lock of an engine, and knows the threads that sleep in the engine.
#pragma once

#include <atomic>
#include <mutex>

#include "shim/base/biased_lock.hpp"
#include "shim/p2p/progress_work.hpp"

namespace shim::p2p {

class EngineLock {
 public:
  [[gnu::always_inline]] Guard enter() {
    Guard guard(lock_);
    record_entry();
    return guard;
  }
  /// Enter on behalf of another engine's thread; the guard owns nothing if the lock is held.
  Guard try_enter() { return Guard(lock_, std::try_to_lock); }

  /// Holds the lock like enter(), for callers that release it only at the end.
  class Scope {
   public:
    explicit Scope(EngineLock& lock) : guard_(lock.lock_) { lock.record_entry(); }

   private:
    std::lock_guard<base::BiasedLock> guard_;
  };

  /// Counts a thread as asleep during its lifetime, which an exception may end.
  class Asleep {
   public:
    /// The caller holds the lock.
    explicit Asleep(EngineLock& lock) : lock_(lock) { lock_.count_sleepers(+1); }
    ~Asleep() { lock_.change_sleepers(-1); }
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;

    /// Evaluate a check that may enter the engine: this thread must not count as another one.
    template <typename Check>
    bool check(const Check& last_check) const {
      const Awake awake(lock_);
      return last_check();
    }

   private:
    struct Awake {
      EngineLock& lock;
      explicit Awake(EngineLock& of) : lock(of) { lock.change_sleepers(-1); }
      ~Awake() { lock.change_sleepers(+1); }
      Awake(const Awake&) = delete;
      Awake& operator=(const Awake&) = delete;
    };
    EngineLock& lock_;
  };

  /// Return the number of threads that sleep in the engine; a hint without the lock.
  int sleepers() const { return sleepers_.load(std::memory_order_relaxed); }
  /// True if a thread has entered while another one slept. Under the lock.
  bool has_several_threads() const { return several_threads_; }
  bool is_shared() const { return lock_.is_shared(); }
  void release_ownership() { lock_.release_ownership(); }

 private:
  [[gnu::always_inline]] void record_entry() {
    if (sleepers() != 0) [[unlikely]]
      several_threads_ = true;
  }
  void count_sleepers(int by) { sleepers_.store(sleepers() + by, std::memory_order_relaxed); }
  /// Change the count for the sleeping thread itself: enter() would take it for another thread.
  void change_sleepers(int by) {
    const Guard guard(lock_);
    count_sleepers(by);
  }

  base::BiasedLock lock_;
  std::atomic<int> sleepers_{0};  ///< changed under the lock; a hint without it
  bool several_threads_ = false;
};

}  // namespace shim::p2p
