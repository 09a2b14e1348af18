// SPDX-License-Identifier: BSD-3-Clause
// Task: a collective in progress, a coroutine that suspends where it waits for messages.
//
// A task never sees an error. Each awaited operation succeeds, or the whole collective ends there:
// the execution keeps the error and destroys the frames, whose locals clean up. So algorithms read
// like the textbook.
//
// Avoid these bugs of GCC 12: co_await inside ?: and &&, and temporaries with destructors in an
// awaited expression. Write one statement per await, and name each task:
// `Task part = f(...); co_await part;`.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::coll {

class Execution;

/// Owns a coroutine. It starts suspended; run(), start() or an awaiting task runs it to its end.
/// The destructor frees the frame at any suspension point. A task is empty if there was no memory
/// for the frame; running it then fails with no_mem. A task made by over() has a result and no
/// coroutine, because its collective ended inside the call.
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  static Task over(base::Status result) {
    Task task;
    task.result_ = std::move(result);
    return task;
  }
  Task(Task&& other) noexcept
      : handle_(std::exchange(other.handle_, {})), result_(std::move(other.result_)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
      result_ = std::move(other.result_);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }
  Handle handle() const { return handle_; }
  bool is_over() const { return result_.has_value(); }
  /// Return the result of a finished task. Call it once.
  base::Status take_result() { return *std::move(result_); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
  std::optional<base::Status> result_;
};

struct Task::promise_type {
  Execution* execution = nullptr;  ///< runs this task; set before the first resumption
  Handle awaiting;                 ///< task that awaits this one; null for the outermost

  /// Resumes the awaiting task at the end of a task.
  struct Final {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle self) const noexcept;
    void await_resume() const noexcept {}
  };
  /// Runs an awaited task before the awaiting one.
  struct Inner {
    Handle inner;
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle self) const noexcept;
    void await_resume() const noexcept {}
  };

  Task get_return_object() { return Task(Handle::from_promise(*this)); }
  static Task get_return_object_on_allocation_failure() noexcept { return {}; }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  /// Turn std::bad_alloc (scratch memory) into the collective's error. Other exceptions leave
  /// resume(): pthread_exit or cancellation in a user's operation, and foreign exceptions. The
  /// collective has failed then.
  void unhandled_exception();

  Inner await_transform(Task& task) const noexcept { return {task.handle()}; }
  template <typename Awaitable>
  Awaitable await_transform(Awaitable awaitable) const noexcept {
    return awaitable;
  }
};

}  // namespace shim::coll
