// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/execution.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

/// Frames and requests of a collective that failed: they stay until the last request is done, because until then the
/// engine may read or write scratch memory of the frames.
class Leftovers {
 public:
  static void leave(p2p::Engine& engine, Task task, Requests requests) {
    auto self = std::make_shared<Leftovers>(engine, std::move(task), std::move(requests));
    // release: pairs with the acquire in look()
    self->number_.store(engine.add_progress([self] { self->look(); }), std::memory_order_release);
  }
  Leftovers(p2p::Engine& engine, Task task, Requests requests)
      : engine_(engine), task_(std::move(task)), requests_(std::move(requests)) {}

 private:
  void look() {
    const std::uint64_t number = number_.load(std::memory_order_acquire);
    if (number == 0) return;  // leave() is not through yet
    requests_.collect(engine_);
    if (requests_.empty()) engine_.remove_progress(number);
  }

  p2p::Engine& engine_;
  Task task_;
  Requests requests_;
  std::atomic<std::uint64_t> number_{0};
};

}  // namespace

void Requests::Faults::note(const base::Error& error) {
  const bool is_of_message = error.error_class() == base::ErrorClass::truncate || error.error_class() == base::ErrorClass::type;
  auto& fault = is_of_message ? mismatch : failure;
  if (!fault) fault = error.clone();
}

void Requests::Faults::note_length(const p2p::Outcome& outcome, std::uint64_t expected) {
  if (outcome.bytes >= expected || mismatch) return;
  mismatch = base::Error(base::ErrorClass::truncate, "rank " + std::to_string(outcome.source) + " sent " +
                                                         std::to_string(outcome.bytes) + " bytes where " +
                                                         std::to_string(expected) + " are to be received");
}

void Requests::look_at(const Posted& posted, Faults& faults) {
  if (const base::Error* error = posted.request->error()) faults.note(*error);
  else if (posted.way == Way::receive) faults.note_length(posted.request->outcome(), posted.bytes);
}

Requests::Faults Requests::collect(p2p::Engine& engine) {
  Faults faults;
  auto still_posted = std::remove_if(posted_.begin(), posted_.end(), [&](const Posted& posted) {
    if (!posted.request->is_done()) return false;
    look_at(posted, faults);
    engine.release(posted.request);
    return true;
  });
  posted_.erase(still_posted, posted_.end());
  return faults;
}

bool Requests::has_any_done() const {
  return std::ranges::any_of(posted_, [](const Posted& posted) { return posted.request->is_done(); });
}

void Requests::cancel(p2p::Engine& engine) {
  for (const Posted& posted : posted_) {
    // one that cannot be cancelled any more is done soon
    if (posted.way == Way::receive) static_cast<void>(engine.cancel(*posted.request));
  }
  collect(engine);
}

Execution::Execution(p2p::Engine& engine, Task task, Way way)
    : engine_(engine), way_(way), outermost_(std::move(task)), innermost_(outermost_.handle()) {
  if (innermost_) innermost_.promise().execution = this;
  else fail({base::ErrorClass::no_mem, "no memory to start a collective operation"});
}

bool Execution::advance() {
  while (!has_ended()) {
    if (!has_settled()) return false;
    if (has_failed()) break;
    innermost_.resume();
  }
  return true;
}

void Execution::post(base::Result<p2p::Request*> request, Requests::Way way, std::uint64_t bytes) {
  if (!request) fail(std::move(request).error());
  else if (*request != nullptr) requests_.add(*request, way, bytes);
}

bool Execution::collect() {
  if (requests_.has_any_done()) take(requests_.collect(engine_));
  return requests_.empty() || has_failed();
}

void Execution::take(Requests::Faults faults) {
  if (faults.failure) fail(*std::move(faults.failure));
  if (faults.mismatch) go_on_after(*std::move(faults.mismatch));
}

void Execution::take(const base::Status& sent) {
  if (!sent) [[unlikely]] fail(sent.error().clone());
}

void Execution::take(const base::Result<p2p::Outcome>& received, std::uint64_t bytes) {
  if (received && received->bytes >= bytes) [[likely]] return;
  Requests::Faults faults;
  if (received) faults.note_length(*received, bytes);
  else faults.note(received.error());
  take(std::move(faults));
}

void Execution::place(const types::ConstBuffer& from, const types::Buffer& to) {
  if (from.bytes() != to.bytes())
    go_on_after({base::ErrorClass::truncate, "the caller's own block is " + std::to_string(from.bytes()) + " bytes on the send side and " +
                                                 std::to_string(to.bytes()) + " on the receive side"});
  copy_across(from, to);
}

void Execution::fail(base::Error error) {
  if (!error_) error_ = std::move(error);
}

void Execution::go_on_after(base::Error error) {
  if (!mismatch_) mismatch_ = std::move(error);
}

void Execution::enter(Task::Handle task) {
  if (task) task.promise().execution = this;
  innermost_ = task;
}

void Execution::abandon() {
  requests_.cancel(engine_);
  if (!requests_.empty()) Leftovers::leave(engine_, std::move(outermost_), std::move(requests_));
}

void Task::promise_type::Final::await_suspend(Handle self) const noexcept {
  self.promise().execution->enter(self.promise().awaiting);
}

void Task::promise_type::Inner::await_suspend(Handle self) const noexcept {
  Execution* execution = self.promise().execution;
  if (!inner) {
    execution->fail({base::ErrorClass::no_mem, "no memory to go on with a collective operation"});
    return;
  }
  inner.promise().awaiting = self;
  execution->enter(inner);
}

void Task::promise_type::unhandled_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    execution->fail({base::ErrorClass::no_mem, "no memory for the intermediate data of a collective operation"});
  } catch (const std::exception& exception) {
    execution->fail({base::ErrorClass::intern, std::string("a collective operation failed: ") + exception.what()});
  }
}

}  // namespace shim::coll
