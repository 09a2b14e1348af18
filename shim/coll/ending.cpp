// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "shim/coll/coll.hpp"
#include "shim/coll/execution.hpp"

namespace shim::coll {
namespace {

struct Verdict {
  const std::function<base::Status()>* ask;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(Task::Handle task) const {
    Execution& execution = *task.promise().execution;
    // after all messages of the collective: a matter of this member alone
    if (base::Status status = (*ask)(); !status) execution.go_on_after(std::move(status).error());
    return execution.has_failed();
  }
  void await_resume() const noexcept {}
};

Task run_and_ask(Task task, std::function<base::Status()> verdict) {
  co_await task;
  co_await Verdict{&verdict};
}

}  // namespace

Task ending_as(Task task, std::function<base::Status()> verdict) {
  if (!task.is_over()) return run_and_ask(std::move(task), std::move(verdict));
  base::Status ended = task.take_result();
  return Task::over(ended ? verdict() : std::move(ended));
}

}  // namespace shim::coll
