// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/execution.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "shim/coll/scratch.hpp"

namespace shim::coll {

void Requests::Faults::record(const base::Error& error) {
  const bool is_of_message = error.error_class() == base::ErrorClass::truncate ||
                             error.error_class() == base::ErrorClass::type;
  auto& fault = is_of_message ? mismatch : failure;
  if (!fault) fault = error.clone();
}

void Requests::Faults::check_length(const p2p::MessageStatus& outcome, std::uint64_t expected) {
  if (outcome.bytes >= expected || mismatch) return;
  mismatch = base::Error(base::ErrorClass::truncate, "rank " + std::to_string(outcome.source) +
                                                         " sent " + std::to_string(outcome.bytes) +
                                                         " bytes, expected " +
                                                         std::to_string(expected) + " bytes");
}

void Requests::check(const PostedOperation& posted, Faults& faults) {
  if (const base::Error* error = posted.request->error())
    faults.record(*error);
  else if (posted.direction == Direction::receive)
    faults.check_length(posted.request->outcome(), posted.bytes);
}

Requests::Faults Requests::collect(p2p::Engine& engine) {
  Faults faults;
  auto still_posted = std::remove_if(posted_.begin(), posted_.end(),
                                     [&](const PostedOperation& posted) {
                                       if (!posted.request->is_done()) return false;
                                       check(posted, faults);
                                       engine.release(posted.request);
                                       return true;
                                     });
  posted_.erase(still_posted, posted_.end());
  return faults;
}

bool Requests::has_any_done() const {
  return std::ranges::any_of(
      posted_, [](const PostedOperation& posted) { return posted.request->is_done(); });
}

void Requests::list_awaited(std::vector<p2p::Awaited>& awaited) const {
  const auto list = [&](Direction direction) {
    for (const PostedOperation& posted : posted_)
      if (posted.direction == direction && !posted.request->is_done())
        if (const auto each = posted.request->awaited()) awaited.push_back(*each);
  };
  list(Direction::receive);
  if (awaited.empty()) list(Direction::send);
}

void CollectiveSubject::describe(p2p::WaitDescription& description) const {
  description.context = &context_;
  execution_.list_awaited(description.awaited);
}

Execution::Execution(Comm& comm, Task task, WaitMode mode)
    : engine_(comm.engine()),
      comm_(comm),
      mode_(mode),
      outermost_(std::move(task)),
      innermost_(outermost_.handle()) {
  if (innermost_)
    innermost_.promise().execution = this;
  else
    fail({base::ErrorClass::no_mem, "no memory to start a collective operation"});
  if (comm.has_failed()) [[unlikely]]
    fail(comm.failure());
}

bool Execution::advance() {
  while (!has_ended()) {
    if (!has_settled()) return false;
    if (has_failed()) break;
    innermost_.resume();
  }
  return true;
}

void Execution::post(base::Result<p2p::Request*> request, Requests::Direction direction,
                     std::uint64_t bytes) {
  if (!request)
    fail(std::move(request).error());
  else if (*request != nullptr)
    requests_.add(*request, direction, bytes);
}

bool Execution::collect() {
  if (requests_.has_any_done()) take(requests_.collect(engine_));
  return requests_.empty() || has_failed();
}

void Execution::take(Requests::Faults faults) {
  if (faults.failure) fail(*std::move(faults.failure));
  if (faults.mismatch) continue_after(*std::move(faults.mismatch));
}

void Execution::take(const base::Status& sent) {
  if (!sent) [[unlikely]]
    fail(sent.error().clone());
}

void Execution::take(const base::Result<p2p::MessageStatus>& received, std::uint64_t bytes) {
  if (received && received->bytes >= bytes) [[likely]]
    return;
  Requests::Faults faults;
  if (received)
    faults.check_length(*received, bytes);
  else
    faults.record(received.error());
  take(std::move(faults));
}

void Execution::copy_local(const types::ConstBuffer& from, const types::Buffer& to) {
  if (from.bytes() != to.bytes())
    continue_after(
        {base::ErrorClass::truncate, "the caller's own block is " + std::to_string(from.bytes()) +
                                         " bytes on the send side and " +
                                         std::to_string(to.bytes()) + " on the receive side"});
  copy_across(from, to);
}

void Execution::fail(base::Error error) {
  if (!error_) error_ = std::move(error);
}

void Execution::continue_after(base::Error error) {
  if (!mismatch_) mismatch_ = std::move(error);
}

void Execution::enter(Task::Handle task) {
  if (task) task.promise().execution = this;
  innermost_ = task;
}

base::Status Execution::take_error() {
  if (!error_) return std::move(*mismatch_);
  give_up(*error_);
  // for a request, its driver waits for the notices (coll_run.cpp)
  if (mode_ != WaitMode::suspended && !engine_.has_sent_failure_notices())
    static_cast<void>(engine_.wait_until([this] { return engine_.has_sent_failure_notices(); },
                                         base::Deadline::after_seconds(kFailureNoticeSeconds)));
  return std::move(*error_);
}

/// Fail the collective; then all posted requests are done.
void Execution::give_up(const base::Error& reason) {
  comm_.fail(reason);
  requests_.collect(engine_);
}

void Task::promise_type::Final::await_suspend(Handle self) const noexcept {
  self.promise().execution->enter(self.promise().awaiting);
}

void Task::promise_type::Inner::await_suspend(Handle self) const noexcept {
  Execution& driver = *self.promise().execution;
  if (!inner) {
    driver.fail({base::ErrorClass::no_mem, "no memory to continue a collective operation"});
    return;
  }
  inner.promise().awaiting = self;
  driver.enter(inner);
}

void Task::promise_type::unhandled_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    execution->fail({base::ErrorClass::no_mem,
                     "no memory for the intermediate data of a collective operation"});
  } catch (const std::exception& exception) {
    execution->fail({base::ErrorClass::intern,
                     std::string("a collective operation failed: ") + exception.what()});
  } catch (...) {
    execution->fail(
        {base::ErrorClass::other, "the user function of the reduction operation did not return"});
    throw;
  }
}

}  // namespace shim::coll
