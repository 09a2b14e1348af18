// SPDX-License-Identifier: BSD-3-Clause
// ProgressThread moves session messages while program threads are blocked inside the substrate. For
// substrates without progress callbacks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "shim/base/log.hpp"
#include "shim/p2p/engines.hpp"

namespace shim::intercept {

/// Threads inside blocking calls, and calls begun so far. Updating them is the only cost of a short
/// call.
struct NativeCallCounts {
  std::atomic<int> inside{0};
  std::atomic<unsigned> begun{0};
};

/// Reads the counts periodically, and makes progress in sessions once no call has begun for a whole
/// period while one is still inside. Sleeps until the next call if there was none for a while.
///
/// The thread also executes non-blocking collectives, so it may call the user's reduction
/// operations, one at a time. If an operation ends the thread (pthread_exit, cancellation), a new
/// thread replaces it.
class ProgressThread {
 public:
  /// Return null and warn if the system has no more threads: the program may not need it.
  static std::unique_ptr<ProgressThread> make(p2p::Engines& engines, NativeCallCounts& calls,
                                              const base::Log& log);
  /// End the thread and join it.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Notify the thread that `calls` has counted a new call.
  void on_call() noexcept {
    // seq_cst, like the count of calls: the thread sees the call before it parks, or we see that it
    // is parked
    if (is_sleeping_.load()) wake();
  }

 private:
  ProgressThread(p2p::Engines& engines, NativeCallCounts& calls);
  class ReplacedOnUnwind;
  std::thread make_thread();
  void run();
  /// Start a new thread in the calling thread's place, which is being unwound. Do nothing if the
  /// system has no more threads.
  void start_replacement() noexcept;
  /// Sleep until a call after this one begins.
  void sleep_until_call(unsigned call);
  void wake() noexcept;
  /// Sleep for one period; false if the thread is to end.
  bool sleep();

  p2p::Engines& engines_;
  NativeCallCounts& calls_;
  std::atomic<bool> is_sleeping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  ///< guarded by mutex_
  std::thread thread_;    ///< guarded by mutex_; last member: the thread uses all others
};

}  // namespace shim::intercept
