// SPDX-License-Identifier: BSD-3-Clause
// A piece of work that would keep its caller waiting, on a thread of its own.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "shim/base/signals_blocked.hpp"

namespace shim::base {

/// Done once. Its owner's lock guards it, but for wait().
template <typename Answer>
class OwnThread {
 public:
  using Work = std::function<Answer()>;

  explicit OwnThread(Work work) : maker_(::getpid()), work_(std::move(work)) {}
  /// Waits for the end; what nobody has taken is destroyed. In a child made by fork() there is nothing to wait for: the thread is
  /// the parent's.
  ~OwnThread() {
    if (!thread_.joinable()) return;
    if (is_own_process()) thread_.join();
    else thread_.detach();
  }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Begins, on a new thread; where none can be made, does all of it. The second time nothing.
  void begin() {
    State idle = State::idle;
    if (!state_.compare_exchange_strong(idle, State::running, std::memory_order_relaxed)) return;
    SignalsBlocked blocked;  // the new thread begins with the mask of its maker
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no threads to be had
      run();
    }
  }
  // acquire: pairs with the release at the end of the work, so that what it made is seen
  bool is_over() const { return state_.load(std::memory_order_acquire) == State::over; }
  /// Once it is over: the work's answer; once.
  Answer take() {
    if (thread_.joinable()) thread_.join();
    return std::move(*std::exchange(answer_, std::nullopt));
  }
  /// Until no work goes on; from any thread.
  void wait() const {
    if (!is_own_process()) return;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return state_.load(std::memory_order_relaxed) != State::running; });
  }

 private:
  enum class State : std::uint8_t { idle, running, over };
  void run() {
    answer_.emplace(work_());
    std::lock_guard guard(mutex_);
    state_.store(State::over, std::memory_order_release);  // pairs with is_over()
    ended_.notify_all();
  }
  bool is_own_process() const { return ::getpid() == maker_; }

  const pid_t maker_;
  Work work_;
  std::optional<Answer> answer_;  ///< the thread's until it is over
  std::atomic<State> state_{State::idle};
  mutable std::mutex mutex_;  ///< for those who wait for the end
  mutable std::condition_variable ended_;
  std::thread thread_;
};

}  // namespace shim::base
