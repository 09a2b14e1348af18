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
    if (base::Status status = (*ask)(); !status) execution.fail(std::move(status).error());
    return execution.has_failed();
  }
  void await_resume() const noexcept {}
};

}  // namespace

Task ending_as(Task task, std::function<base::Status()> verdict) {
  co_await task;
  co_await Verdict{&verdict};
}

}  // namespace shim::coll
