// SPDX-License-Identifier: BSD-3-Clause
// Task: a collective in progress, a coroutine that suspends where it waits for messages.
//
// A task never looks at an error. Whatever it awaits either succeeds, or the whole collective ends there: the execution keeps
// the error and destroys the frames, whose locals clean up. So algorithms read like the textbook.
//
// Known faults of GCC 12 to keep away from: co_await inside ?: and &&, and temporaries with destructors in an awaited
// expression. Await statements of their own, and tasks that have a name: `Task part = f(...); co_await part;`.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "shim/base/result.hpp"

namespace shim::coll {

class Execution;

/// Owns a coroutine. Starts suspended; run() or start() bring it to its end, or another task that awaits it does. Its frame
/// is freed with the Task, wherever it stands. Empty when there was no memory for the frame; running that is error no_mem.
/// One that is over has no coroutine, only how it ended.
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
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})), result_(std::move(other.result_)) {}
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
  /// Of one that is over. Once.
  base::Status take_result() { return *std::move(result_); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
  std::optional<base::Status> result_;
};

struct Task::promise_type {
  Execution* execution = nullptr;    ///< who runs this; known from the first resumption on
  Handle awaiting;                   ///< the task that goes on after this one; null for the outermost

  /// At the end of a task: the one that awaits it is the next to run.
  struct Final {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle self) const noexcept;
    void await_resume() const noexcept {}
  };
  /// A task awaits another: that one runs first.
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
  /// std::bad_alloc (scratch memory) becomes the error of the collective. Other exceptions leave
  /// resume(): pthread_exit or cancellation in the function of an operation, and exceptions of
  /// other languages. The collective has failed then.
  void unhandled_exception();

  Inner await_transform(Task& task) const noexcept { return {task.handle()}; }
  template <typename Awaitable>
  Awaitable await_transform(Awaitable awaitable) const noexcept {
    return awaitable;
  }
};

}  // namespace shim::coll
