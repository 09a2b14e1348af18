// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/call.hpp"

#include <string>
#include <utility>

#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

// Return value of await_suspend: true suspends. A failed task is never resumed.
bool must_stop(Execution& execution, base::Status status) {
  if (!status) execution.fail(std::move(status).error());
  return execution.has_failed();
}

bool must_wait(Execution& execution) { return !execution.has_settled() || execution.has_failed(); }

void post(Execution& execution, const Call& call, const types::Buffer& into, int source) {
  if (into.bytes() == 0) return;
  execution.post(execution.engine().irecv(*call.context, into, call.rank_of(source), call.tag,
                                          p2p::Plane::collective, execution.caller()),
                 Requests::Direction::receive, into.bytes());
}

void post(Execution& execution, const Call& call, const types::ConstBuffer& out, int dest) {
  if (out.bytes() == 0 || execution.has_failed()) return;
  const types::ConstBuffer data = execution.to_send(out);
  execution.post(execution.engine().send_or_start(*call.context, data, call.rank_of(dest), call.tag,
                                                  p2p::Plane::collective, execution.caller()),
                 Requests::Direction::send, data.bytes());
}

}  // namespace

bool Call::Send::await_suspend(Task::Handle task) const {
  Execution& execution = *task.promise().execution;
  if (wait && data.bytes() > 0 && execution.may_block()) {
    execution.take(execution.engine().send(*call->context, execution.to_send(data),
                                           call->rank_of(dest), call->tag, p2p::SendMode::standard,
                                           p2p::Plane::collective));
    return execution.has_failed();
  }
  post(execution, *call, data, dest);
  return wait ? must_wait(execution) : execution.has_failed();
}

bool Call::Receive::await_suspend(Task::Handle task) const {
  Execution& execution = *task.promise().execution;
  if (wait && into.bytes() > 0 && execution.may_block()) {
    execution.take(execution.engine().recv(*call->context, into, call->rank_of(source), call->tag,
                                           p2p::Plane::collective),
                   into.bytes());
    return execution.has_failed();
  }
  if (wait && into.bytes() > 0 && execution.may_receive_at_once()) {
    if (auto received = execution.engine().recv_at_once(*call->context, into, call->rank_of(source),
                                                        call->tag, p2p::Plane::collective)) {
      execution.take(*received, into.bytes());
      return execution.has_failed();
    }
  }
  post(execution, *call, into, source);
  return wait ? must_wait(execution) : execution.has_failed();
}

bool Call::Exchange::await_suspend(Task::Handle task) const {
  Execution& execution = *task.promise().execution;
  if (out.bytes() == 0) return Receive{call, in, source, true}.await_suspend(task);
  if (in.bytes() == 0) return Send{call, out, dest, true}.await_suspend(task);
  // the receive first, so that the reply to our send finds it posted
  post(execution, *call, in, source);
  post(execution, *call, out, dest);
  return must_wait(execution);
}

bool Call::EndAwaiter::await_suspend(Task::Handle task) const {
  return must_wait(*task.promise().execution);
}

bool Call::LocalCopy::await_suspend(Task::Handle task) const {
  task.promise().execution->copy_local(from, to);
  return false;
}

bool Call::Combination::await_suspend(Task::Handle task) const {
  return must_stop(*task.promise().execution,
                   types::reduce(*operands.op, *operands.type, in, inout, count));
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
