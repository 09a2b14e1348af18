// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls and packets of short messages, with what they call in one function each.
#include <sched.h>

#include "shim/p2p/core.hpp"
#include "shim/p2p/receiving_fast_path.hpp"
#include "shim/p2p/sending_fast_path.hpp"

namespace shim::p2p {

namespace {
// Polls on the fast path: slightly longer than another core takes to answer, far shorter than any
// other wait here.
constexpr int kFastPathPolls = 50;
// With more processes than cores: by the second or third poll the sender has usually run.
constexpr int kOversubscribedPolls = 3;
}  // namespace

base::Status PointToPoint::send(Context& context, const types::ConstBuffer& data, int dest, int tag,
                                SendMode mode, Plane plane) {
  if (dest == kProcNull) return {};
  Core& core = *core_;  // a local variable, because the compiler keeps it in a register
  if (mode != SendMode::synchronous) [[likely]] {
    const EngineLock::Scope lock(core.lock());
    if (core.sending.send_at_once(context, data, dest, tag, plane)) [[likely]]
      return {};
  }
  return core.send_slowly({&context, dest, tag, plane}, data, mode);
}

bool PointToPoint::send_at_once(Context& context, const types::ConstBuffer& data, int dest,
                                int tag) {
  if (dest == kProcNull) return true;
  Core& core = *core_;
  const EngineLock::Scope lock(core.lock());
  return core.sending.send_at_once(context, data, dest, tag, Plane::user);
}

base::Result<Request*> PointToPoint::send_or_start(Context& context, const types::ConstBuffer& data,
                                                   int dest, int tag, Plane plane, Caller caller,
                                                   bool keeps_copy) {
  if (dest == kProcNull) return nullptr;
  Core& core = *core_;
  Guard guard = core.enter();
  if (core.sending.send_at_once(context, data, dest, tag, plane)) [[likely]]
    return nullptr;
  SendRequest* request = core.sending.make(&core, MessageAddress{&context, dest, tag, plane}, data,
                                           SendMode::standard);
  request->caller = caller;
  if (keeps_copy) request->keep_copy();
  return core.started(core.start(*request, guard), *request);
}

bool PointToPoint::send_at_once(Context& context, const types::ConstBuffer& data, int dest, int tag,
                                InlineSent& inline_sent) {
  if (dest == kProcNull) [[unlikely]]
    return true;
  Core& core = *core_;
  const EngineLock::Scope lock(core.lock());
  return core.sending.send_at_once(context, data, dest, tag, inline_sent);
}

base::Result<Request*> PointToPoint::receive_or_start(Context& context, const types::Buffer& into,
                                                      int source, int tag,
                                                      MessageStatus& received) {
  if (source == kProcNull) [[unlikely]] {
    received = kNoMessage;
    return nullptr;
  }
  Core& core = *core_;
  const EngineLock::Scope lock(core.lock());
  const MessageAddress from{&context, source, tag, Plane::user};
  Receiving& receiving = core.receiving;
  if (receiving.receive_if_arrived(from, into, received)) return nullptr;
  ReceiveRequest* request = receiving.make(&core, from, into);
  request->outlives_failures = true;
  return core.started(receiving.find_or_post(*request), *request);
}

bool Core::on_packet(transport::ConstSpan packet) {
  WholeMessage message;
  if (read_whole(packet, message)) [[likely]]
    return receiving.on_whole_message(message);
  on_other_packet(packet);
  return receiving.is_poll_wanted();
}

/// True if no other message or receive is bypassed, and no part waits for a round.
bool Core::may_take_fast_path(const ExpectedRecv& expected) {
  if (!receiving.may_take_fast_path(expected)) return false;
  if (output.has_waiting() || rendezvous.has_reads() || shared_copies.has_writes() ||
      links.has_requests() || !inbox.is_empty())
    return false;
  if (!receiving.is_round_due_after_fast_paths()) [[likely]]
    return true;
  // Fast-path receives count as rounds, so that other engines are polled even if no receive ever
  // waits.
  return loop.work().empty() &&
         !(engines_->are_several() && loop.count_rounds(Receiving::kMaxFastPathsInARow));
}

/// Poll up to kFastPathPolls times under the lock. Return as receive_at_once does.
[[gnu::always_inline]] inline bool Core::poll_under_lock(ExpectedRecv& expected) {
  Guard guard = enter();
  expected.can_retry = may_take_fast_path(expected);
  if (!expected.can_retry) return false;
  const bool is_alone = !loop.is_oversubscribed() && !lock_.is_shared();
  return receiving.poll_for(expected, is_alone ? kFastPathPolls : 1);
}

bool Core::receive_at_once(ExpectedRecv& expected) {
  for (int polls_left = loop.is_oversubscribed() ? kOversubscribedPolls : 1;; --polls_left) {
    if (poll_under_lock(expected)) return true;
    if (polls_left == 1 || !expected.can_retry) return false;
    sched_yield();
  }
}

}  // namespace shim::p2p
