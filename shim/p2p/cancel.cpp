// SPDX-License-Identifier: BSD-3-Clause
// Taking sends back, MPI-4.1 §3.8.4: one that no receive has matched is forgotten by its receiver, who says so; of one that is matched
// nothing is said, and it goes on to its end. A message that left as one packet is over for its sender, and is not asked for.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::cancel(SendRequest& request) {
  const bool may_be_unmatched = !request.is_done() && request.id != 0 && !request.streaming && request.peer != nullptr;
  if (!may_be_unmatched || std::exchange(request.given_up, true)) return;
  wire::Cancel header;
  header.source = request.address.context->spec.own_rank;
  header.context = request.address.context->id_at(request.address.rank, request.address.plane);
  header.send = request.id;
  transmit(*request.peer, header);
}

/// The message goes, unmatched.
void Core::take_back(Context& context, Message& message) {
  wire::Cancelled reply;
  reply.send = message.arrival.reply_to;
  transmit(peer(context, message.source), reply);
  free_message(message);
}

void Core::on_cancel(const wire::Cancel& header) {
  const Plane plane = (header.context & 1) != 0 ? Plane::collective : Plane::user;
  const base::ContextId id = header.context & ~base::ContextId{1};
  auto is_meant = [&header](const Arrived& arrived) {
    return arrived.source == header.source && static_cast<const Message&>(arrived).arrival.reply_to == header.send;
  };
  Context* context = contexts_.find(id);
  if (context == nullptr) {  // who has sent it is known when the context is there
    contexts_.for_each_held(id, [&](Message& message) { message.is_given_up = message.is_given_up || is_meant(message); });
    return;
  }
  if (header.source < 0 || header.source >= context->size) return;
  Arrived* found = context->matching(plane).find_arrived_if(header.source, is_meant);
  if (found == nullptr) return;
  context->matching(plane).remove(*found);
  take_back(*context, static_cast<Message&>(*found));
}

void Core::on_cancelled(const wire::Cancelled& header) {
  if (SendRequest* request = send_ids_.find(header.send)) end(*request, std::nullopt, true);
}

}  // namespace shim::p2p
