// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Cancel of sends (MPI-4.1 §3.8.4).
// The receiver drops the message if no receive has matched it. A send that was complete because its
// data had left is incomplete again until the receiver has answered.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::cancel(SendRequest& request) {
  if (request.number == 0 || request.cancel_requested || request.streaming || !request.is_active())
    return;
  if (request.receiver->failure) return;
  const bool is_eager = request.header.kind == wire::PacketType::eager_numbered;
  if (request.is_done()) {
    if (!is_eager) return;  // it was matched
    request.reopen();
    request.was_sent = true;
    request.peer = request.receiver;
    request.peer->unfinished.push_back(request);
  }
  if (is_eager) {
    request.awaits_reply = true;
    request.id = send_ids_.add(request);
  }
  request.cancel_requested = true;
  wire::Cancel wanted;
  wanted.message = request.header.kind;
  wanted.source = request.header.source;
  wanted.context = request.header.context;
  wanted.number = request.number;
  wanted.send = request.id;
  wanted.world = spec.self.world;
  wanted.rank = spec.self.rank;
  transmit(*request.receiver, wanted);
  if (request.receiver->process == spec.self) complete_cancel_to_self(request);
}

/// Decide the cancellation of a send to this process: handle the packets to it up to the answer,
/// for which a single MPI_Test would be a round too early.
void Core::complete_cancel_to_self(SendRequest& request) {
  Peer& self = *request.receiver;
  while (!request.is_done() && self.transport != nullptr) {
    const int pushed = push(self);
    const base::Result<int> handled = self.transport->poll(*this);
    if (!handled || (*handled == 0 && pushed == 0)) return;
  }
}

/// Remove a message from its context's queues or the held messages. Null if it was matched or
/// dropped.
StoredMessage* Core::take_unmatched(base::ContextId id, const wire::Cancel& wanted) {
  auto is_match = [&wanted](const UnexpectedMsg& unexpected) {
    const MessageInfo& message = static_cast<const StoredMessage&>(unexpected).info;
    return message.source == wanted.source && message.kind == wanted.message &&
           message.number == wanted.number;
  };
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = contexts_.find(id);
  if (context == nullptr) return contexts_.take_held(id, is_match);
  if (wanted.source < 0 || wanted.source >= context->size) return nullptr;
  UnexpectedMsg* found = context->matching(plane).find_unexpected_if(wanted.source, is_match);
  if (found != nullptr) context->matching(plane).remove(*found);
  return static_cast<StoredMessage*>(found);
}

/// Messages to this process itself are matched here.
void Core::on_cancel(const wire::Cancel& header) {
  const bool is_own = base::ProcessId{header.world, header.rank} == spec.self;
  if (is_own || !defer_cancel(header)) reply_to_cancel(header);
}

void Core::reply_to_cancel(const wire::Cancel& wanted) {
  Peer& sender = peer(base::ProcessId{wanted.world, wanted.rank});
  if (StoredMessage* message = take_unmatched(wanted.context, wanted)) {
    unexpected_.free(*message);
    wire::Cancelled reply;
    reply.send = wanted.send;
    transmit(sender, reply);
  } else if (wanted.message == wire::PacketType::eager_numbered) {
    wire::Finished reply;
    reply.send = wanted.send;
    transmit(sender, reply);
  }
}

void Core::on_cancelled_reply(const wire::Cancelled& header) {
  if (SendRequest* request = send_ids_.find(header.send)) end(*request, std::nullopt, true);
}

void Core::complete_abandoned_cancels() {
  peers_.for_each([&](Peer& peer) {
    auto& unfinished = peer.unfinished;
    if (unfinished.empty() || spec.router->receives_packets(peer.process)) return;
    for (auto next = unfinished.begin(); next != unfinished.end();) {
      SendRequest& request = *next++;
      if (request.was_sent) end(request, std::nullopt);
    }
  });
}

}  // namespace shim::p2p
