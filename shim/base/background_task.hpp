// SPDX-License-Identifier: BSD-3-Clause
// BackgroundTask runs a function once on a background thread.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "shim/base/own_exception.hpp"
#include "shim/base/result.hpp"
#include "shim/base/signals_blocked.hpp"

namespace shim::base {

/// is_over() and wait() are thread-safe; the owner must serialize all other calls.
template <typename T>
class BackgroundTask {
 public:
  using Work = std::function<Result<T>()>;

  explicit BackgroundTask(Work work) : creator_pid_(::getpid()), work_(std::move(work)) {}
  /// Wait until the function has returned; destroy its result unless it was taken. In a child of
  /// fork() do not wait, because the thread exists in the parent only.
  ~BackgroundTask() {
    if (!thread_.joinable()) return;
    if (is_creator_process())
      thread_.join();
    else
      thread_.detach();
  }
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  /// Start the function on a new thread, or run it to its end here if no thread can be created.
  /// Later calls do nothing.
  void begin() {
    State idle = State::idle;
    if (!state_.compare_exchange_strong(idle, State::running, std::memory_order_relaxed)) return;
    SignalsBlocked blocked;  // the new thread inherits the creator's mask
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // thread limit reached
      run();
    }
  }
  /// True if the function has returned.
  // acquire: pairs with the release in run(), so that the function's writes are visible
  bool is_over() const { return state_.load(std::memory_order_acquire) == State::over; }
  /// Return the function's result, or error_of() its exception. Call it once, after is_over() is
  /// true.
  Result<T> take() {
    if (thread_.joinable()) thread_.join();
    return std::move(*std::exchange(result_, std::nullopt));
  }
  /// Wait until the function has returned. Return at once if begin() has not been called, and in a
  /// child of fork().
  void wait() const {
    if (!is_creator_process()) return;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return state_.load(std::memory_order_relaxed) != State::running; });
  }

 private:
  enum class State : std::uint8_t { idle, running, over };
  /// An exception must not end the thread, which would end the program; nor may the state remain
  /// `running`, for which wait() would wait forever.
  void run() {
    try {
      result_.emplace(work_());
    } catch (const std::exception& thrown) {
      result_.emplace(error_of(thrown));
    }
    std::lock_guard guard(mutex_);
    state_.store(State::over, std::memory_order_release);  // pairs with is_over()
    ended_.notify_all();
  }
  bool is_creator_process() const { return ::getpid() == creator_pid_; }

  const pid_t creator_pid_;
  Work work_;
  std::optional<Result<T>> result_;  ///< owned by the thread until the state is `over`
  std::atomic<State> state_{State::idle};
  mutable std::mutex mutex_;  ///< guards ended_
  mutable std::condition_variable ended_;
  std::thread thread_;
};

}  // namespace shim::base
