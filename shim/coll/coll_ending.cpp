// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "shim/coll/coll.hpp"
#include "shim/coll/execution.hpp"

namespace shim::coll {
namespace {

/// Calls a function at the end of a task, and ends the task with its error, if any.
struct FinalStatus {
  const std::function<base::Status()>* check;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(Task::Handle task) const {
    Execution& execution = *task.promise().execution;
    // all messages of the collective are complete: the error affects this member alone
    if (base::Status status = (*check)(); !status)
      execution.continue_after(std::move(status).error());
    return execution.has_failed();
  }
  void await_resume() const noexcept {}
};

Task run_then_check(Task task, std::function<base::Status()> final_status) {
  co_await task;
  co_await FinalStatus{&final_status};
}

}  // namespace

Task ending_as(Task task, std::function<base::Status()> final_status) {
  if (!task.is_over()) return run_then_check(std::move(task), std::move(final_status));
  base::Status ended = task.take_result();
  return Task::over(ended ? final_status() : std::move(ended));
}

}  // namespace shim::coll
