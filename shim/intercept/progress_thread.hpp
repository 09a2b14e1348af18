// SPDX-License-Identifier: BSD-3-Clause
// A thread of ours that moves our messages while threads of the program wait inside a substrate that lets nobody in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "shim/base/log.hpp"
#include "shim/p2p/engines.hpp"

namespace shim::intercept {

/// How many threads are inside such calls, and how many calls there have been: all that a call pays while it is short.
struct CallsBelow {
  std::atomic<int> inside{0};
  std::atomic<unsigned> begun{0};
};

/// Looks on from time to time, and takes over when the same call has been waiting for the length of a look. Sleeps without end where
/// nobody has called for a while.
///
/// The work of non-blocking collectives is moved as well, so that operations of the user's may run on this thread, one at a time.
class ProgressThread {
 public:
  /// Null, and a warning, where the system gives no more threads: the program may do without.
  static std::unique_ptr<ProgressThread> make(p2p::Engines& engines, CallsBelow& calls, const base::Log& log);
  /// Ends the thread and waits for it.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Somebody has gone in, as `calls` says.
  void notice() noexcept {
    // seq_cst, as the count of calls: either the thread sees the call before it parks, or we see that it is parked
    if (is_parked_.load()) wake();
  }

 private:
  ProgressThread(p2p::Engines& engines, CallsBelow& calls);
  void run();
  /// Until there is a call after this one.
  void park(unsigned call);
  void wake() noexcept;
  /// False when the thread is to end.
  bool sleep();

  p2p::Engines& engines_;
  CallsBelow& calls_;
  std::atomic<bool> is_parked_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;  ///< under the mutex
  std::thread thread_;    ///< the last: it uses all the others
};

}  // namespace shim::intercept
