// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/cancelling.hpp"

#include <utility>

#include "shim/transport/matching.hpp"

namespace shim::p2p {

void Cancelling::cancel(SendRequest& request) {
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
    request.id = collaborators_.send_ids.add(request);
  }
  request.cancel_requested = true;
  wire::Cancel wanted;
  wanted.message = request.header.kind;
  wanted.source = request.header.source;
  wanted.context = request.header.context;
  wanted.number = request.number;
  wanted.send = request.id;
  wanted.world = collaborators_.self.world;
  wanted.rank = collaborators_.self.rank;
  collaborators_.output.transmit(*request.receiver, wanted);
  if (request.receiver->process == collaborators_.self) complete_cancel_to_self(request);
}

/// Decide the cancellation of a send to this process: handle the packets to it up to the answer,
/// for which a single MPI_Test would be a round too early.
void Cancelling::complete_cancel_to_self(SendRequest& request) {
  Peer& self = *request.receiver;
  while (!request.is_done() && self.transport != nullptr &&
         collaborators_.delivery.deliver_to_self(self)) {
  }
}

/// Remove a message from its context's queues or the held messages. Null if it was matched or
/// dropped.
StoredMessage* Cancelling::take_unmatched(base::ContextId id, const wire::Cancel& wanted) {
  auto is_match = [&wanted](const UnexpectedMsg& unexpected) {
    const MessageInfo& message = static_cast<const StoredMessage&>(unexpected).info;
    return message.source == wanted.source && message.kind == wanted.message &&
           message.number == wanted.number;
  };
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = collaborators_.contexts.find(id);
  if (context == nullptr) return collaborators_.contexts.take_held(id, is_match);
  if (wanted.source < 0 || wanted.source >= context->size) return nullptr;
  UnexpectedMsg* found = context->matching(plane).find_unexpected_if(wanted.source, is_match);
  if (found != nullptr) context->matching(plane).remove(*found);
  return static_cast<StoredMessage*>(found);
}

/// Messages to this process itself are matched here.
void Cancelling::on_cancel(const wire::Cancel& header) {
  const bool is_own = base::ProcessId{header.world, header.rank} == collaborators_.self;
  if (is_own || !defer(header)) reply(header);
}

void Cancelling::reply(const wire::Cancel& wanted) {
  Peer& sender = collaborators_.peers.at(base::ProcessId{wanted.world, wanted.rank});
  if (StoredMessage* message = take_unmatched(wanted.context, wanted)) {
    collaborators_.unexpected.free(*message);
    wire::Cancelled answer;
    answer.send = wanted.send;
    collaborators_.output.transmit(sender, answer);
  } else if (wanted.message == wire::PacketType::eager_numbered) {
    wire::Finished answer;
    answer.send = wanted.send;
    collaborators_.output.transmit(sender, answer);
  }
}

void Cancelling::on_cancelled_reply(const wire::Cancelled& header) {
  if (SendRequest* request = collaborators_.send_ids.find(header.send))
    collaborators_.operations.end(*request, std::nullopt, true);
}

void Cancelling::complete_abandoned() {
  collaborators_.peers.for_each([&](Peer& peer) {
    auto& unfinished = peer.unfinished;
    if (unfinished.empty() || collaborators_.router->receives_packets(peer.process)) return;
    for (auto next = unfinished.begin(); next != unfinished.end();) {
      SendRequest& request = *next++;
      if (request.was_sent) collaborators_.operations.end(request, std::nullopt);
    }
  });
}

/// The message to cancel may be with the provider, which cannot be searched: drain it first.
bool Cancelling::defer(const wire::Cancel& wanted) {
  transport::Matcher* matcher = collaborators_.may_match_in_provider
                                    ? collaborators_.transports.matcher()
                                    : nullptr;
  if (matcher == nullptr || !matcher->takes(wanted.context, wanted.source)) return false;
  deferred_.push_back({wanted, matcher->request_drain()});
  return true;
}

void Cancelling::reply_to_deferred() {
  const transport::Matcher* matcher = collaborators_.transports.matcher();
  if (matcher == nullptr) return;
  std::vector<Deferred> ready;
  std::erase_if(deferred_, [&](const Deferred& each) {
    const bool is_ready = matcher->drains_completed() >= each.drain;
    if (is_ready) ready.push_back(each);
    return is_ready;
  });
  for (const Deferred& each : ready) reply(each.wanted);
}

}  // namespace shim::p2p
