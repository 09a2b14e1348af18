// SPDX-License-Identifier: BSD-3-Clause
// Taking sends back, MPI-4.1 §3.8.4: the receiver is asked to forget the message, which it does if no receive has matched it. A send
// whose data had left, and which was complete by that, is incomplete again until the receiver has answered.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::cancel(SendRequest& request) {
  if (request.number == 0 || request.given_up || request.streaming || !request.is_active()) return;
  if (request.receiver->failure) return;
  const bool is_eager = request.header.kind == wire::Kind::eager_numbered;
  if (request.is_done()) {
    if (!is_eager) return;  // it was matched
    request.reopen();
    request.had_left = true;
    request.peer = request.receiver;
    request.peer->unfinished.push_back(request);
  }
  if (is_eager) {
    request.waits_for_answer = true;
    request.id = send_ids_.add(request);
  }
  request.given_up = true;
  wire::Cancel wanted;
  wanted.message = request.header.kind;
  wanted.source = request.header.source;
  wanted.context = request.header.context;
  wanted.number = request.number;
  wanted.send = request.id;
  wanted.world = spec.self.world;
  wanted.rank = spec.self.rank;
  transmit(*request.receiver, wanted);
  if (request.receiver->process == spec.self) decide_own(request);
}

/// Decide the cancellation of a send to this process: handle the packets to it up to the answer, for which a single MPI_Test would
/// be a round too early.
void Core::decide_own(SendRequest& request) {
  Peer& self = *request.receiver;
  while (!request.is_done() && self.transport != nullptr) {
    const int pushed = push(self);
    const base::Result<int> handled = self.transport->poll(*this);
    if (!handled || (*handled == 0 && pushed == 0)) return;
  }
}

/// From the queues of its context, or from those that wait for theirs. Null: it was matched, or dropped.
Message* Core::take_unmatched(base::ContextId id, const wire::Cancel& wanted) {
  auto is_meant = [&wanted](const Arrived& arrived) {
    const Arrival& message = static_cast<const Message&>(arrived).arrival;
    return message.source == wanted.source && message.kind == wanted.message && message.number == wanted.number;
  };
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = contexts_.find(id);
  if (context == nullptr) return contexts_.take_held(id, is_meant);
  if (wanted.source < 0 || wanted.source >= context->size) return nullptr;
  Arrived* found = context->matching(plane).find_arrived_if(wanted.source, is_meant);
  if (found != nullptr) context->matching(plane).remove(*found);
  return static_cast<Message*>(found);
}

/// Messages to this process itself are matched here.
void Core::on_cancel(const wire::Cancel& header) {
  const bool is_own = base::ProcessId{header.world, header.rank} == spec.self;
  if (is_own || !recall_from_below(header)) answer_recall(header);
}

void Core::answer_recall(const wire::Cancel& wanted) {
  Peer& sender = peer(base::ProcessId{wanted.world, wanted.rank});
  if (Message* message = take_unmatched(wanted.context, wanted)) {
    free_message(*message);
    wire::Cancelled reply;
    reply.send = wanted.send;
    transmit(sender, reply);
  } else if (wanted.message == wire::Kind::eager_numbered) {
    wire::Finished reply;
    reply.send = wanted.send;
    transmit(sender, reply);
  }
}

void Core::on_cancelled(const wire::Cancelled& header) {
  if (SendRequest* request = send_ids_.find(header.send)) end(*request, std::nullopt, true);
}

void Core::give_up_recalls() {
  for (auto& [process, peer] : peers_) {
    auto& unfinished = peer->unfinished;
    if (unfinished.empty() || spec.router->takes_packets(process)) continue;
    for (auto next = unfinished.begin(); next != unfinished.end();) {
      SendRequest& request = *next++;
      if (request.had_left) end(request, std::nullopt);
    }
  }
}

}  // namespace shim::p2p
