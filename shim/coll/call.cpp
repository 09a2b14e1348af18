// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/call.hpp"

#include <string>
#include <utility>

#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

// What await_suspend answers: true suspends. A task that has failed is never resumed.
bool must_stop(Execution& execution, base::Status status) {
  if (!status) execution.fail(std::move(status).error());
  return execution.has_failed();
}

}  // namespace

bool Call::Operation::await_suspend(Task::Handle task) const {
  Execution& execution = *task.promise().execution;
  p2p::Engine& engine = execution.engine();
  p2p::Context& context = *call->context;
  const bool receives = source != kNobody && in.bytes() > 0, sends = dest != kNobody && out.bytes() > 0;
  // who has not got what it expected has nothing to pass on; from an empty message those who wait for it learn of that
  const types::ConstBuffer data = execution.has_mismatch() ? Call::buffer(ConstBytes{}) : out;
  if (wait && receives != sends && execution.may_block()) {
    if (receives) execution.take(engine.recv(context, in, source, call->tag, p2p::Plane::collective), in.bytes());
    else execution.take(engine.send(context, data, dest, call->tag, p2p::Mode::standard, p2p::Plane::collective));
    return execution.has_failed();
  }
  // the receive first, so that the answer to our send finds it posted
  if (receives) {
    execution.post(engine.irecv(context, in, source, call->tag, p2p::Plane::collective), Requests::Way::receive, in.bytes());
  }
  if (sends && !execution.has_failed()) {
    execution.post(engine.send_or_start(context, data, dest, call->tag, p2p::Plane::collective), Requests::Way::send, data.bytes());
  }
  if (execution.has_failed()) return true;
  if (!wait) return false;
  return !execution.has_settled() || execution.has_failed();
}

bool Call::Placement::await_suspend(Task::Handle task) const {
  if (from.bytes() != to.bytes())
    task.promise().execution->go_on_after({base::ErrorClass::truncate, "the caller's own block is " + std::to_string(from.bytes()) +
                                                                           " bytes on the send side and " + std::to_string(to.bytes()) +
                                                                           " on the receive side"});
  copy_across(from, to);
  return false;
}

bool Call::Combination::await_suspend(Task::Handle task) const {
  return must_stop(*task.promise().execution, types::reduce(*operands.op, *operands.type, in, inout, count));
}

bool Call::Accumulation::await_suspend(Task::Handle task) const {
  void*& value = accumulator->value;
  void*& spare = accumulator->spare;
  if (received_is_lower) {
    return must_stop(*task.promise().execution,
                   types::reduce(*operands.op, *operands.type, spare, value, operands.count));
  }
  base::Status status = types::reduce(*operands.op, *operands.type, value, spare, operands.count);
  std::swap(value, spare);
  return must_stop(*task.promise().execution, std::move(status));
}

}  // namespace shim::coll
