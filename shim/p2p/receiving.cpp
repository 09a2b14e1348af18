// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/receiving.hpp"

#include <algorithm>

#include "shim/p2p/receiving_fast_path.hpp"

namespace shim::p2p {

void Receiving::on_answered_message(const wire::EagerWords& header, const MessageInfo& info,
                                    base::ContextId id) {
  if (expected_ != nullptr) match_expected(header, info.payload, false);
  on_message(info, id);
}

void Receiving::on_message(const MessageInfo& info, base::ContextId id) {
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = collaborators_.contexts.find(id);
  bool sensible = info.source >= 0 && info.tag >= 0 &&
                  (context == nullptr || info.source < context->size) && is_whole(info);
  if (!sensible || (context == nullptr && collaborators_.contexts.has_ended(id))) {
    ++collaborators_.counts.stale_dropped;
    if (sensible) collaborators_.refusals.refuse(info);
    return;
  }
  PostedReceive* posted = context == nullptr
                              ? nullptr
                              : context->matching(plane).take_posted(info.source, info.tag);
  if (posted != nullptr) return deliver_posted(*posted, info, *context);
  if (context != nullptr && context->is_revoked) [[unlikely]]
    return collaborators_.refusals.refuse(info);
  StoredMessage* message = collaborators_.unexpected.keep(info, plane);
  if (context == nullptr)
    collaborators_.contexts.hold(id, *message);
  else
    context->matching(plane).add(*message);
}

/// Deliver to a receive that matching has just returned.
void Receiving::deliver_posted(PostedReceive& posted, const MessageInfo& info, Context& context) {
  ++collaborators_.counts.posted_matches;
  auto& request = static_cast<ReceiveRequest&>(posted);
  request.posted = false;
  request.clear_failure_pending();
  if (request.is_in_drain) collaborators_.provider.remove_posted(request);
  deliver(request, info, context);
  context.drop();
}

int Receiving::poll_all(bool thorough, base::Status& status) {
  return collaborators_.transports
      .poll(thorough, collaborators_.sink, status,
            [this] { return expected_ != nullptr && expected_->is_received; })
      .packets;
}

/// Poll for the receives posted for this source, until none is left. True if none is left.
bool Receiving::serve_posted(Context& context, Matching& matching, int source) {
  const Peer* sender = context.known_peer(source);
  if (sender == nullptr || sender->link == nullptr) return false;
  {
    const PointerScope<const Matching> serving(served_, matching);
    served_source_ = source;
    static_cast<void>(sender->transport->poll_link(
        *sender->link, collaborators_.sink));  // an error is left to the next round
  }
  return !matching.has_posted_for(source);
}

base::Status Receiving::start(ReceiveRequest& request) { return find_or_post(request); }

void Receiving::deliver(ReceiveRequest& request, const MessageInfo& info, Context& context) {
  if (info.kind == wire::PacketType::ready_to_send)
    return collaborators_.long_receives.begin(request, info,
                                              collaborators_.peers.at(context, info.source));
  if (info.kind == wire::PacketType::eager_synchronous) {
    wire::Finished reply;
    reply.send = info.number;
    collaborators_.output.transmit(collaborators_.peers.at(context, info.source), reply);
  }
  request.into.write(0, info.payload);
  end(request, {info.source, info.tag, std::min(info.bytes, request.into.capacity())},
      misfit(info.bytes, info.source, info.tag, request.into));
}

void Receiving::start_matched(ReceiveRequest& request, StoredMessage& message) {
  Context& context = *message.context;
  if (context.is_revoked) [[unlikely]] {
    collaborators_.refusals.refuse(message.info);
    request.complete({message.source, message.tag, 0}, context.collective_failure->clone());
  } else {
    deliver(request, message.info, context);
  }
  collaborators_.unexpected.free(message);
  context.drop();
}

void Receiving::unlink(ReceiveRequest& request) {
  if (request.with_provider) {
    collaborators_.provider.detach(request);
    request.address.context->drop();
  }
  if (request.peer != nullptr) collaborators_.long_receives.forget(request);
  if (std::exchange(request.posted, false)) {
    if (request.is_in_drain) collaborators_.provider.remove_posted(request);
    Context& context = *request.address.context;
    context.matching(request.address.plane).remove(request);
    context.drop();
  }
}

void Receiving::end(ReceiveRequest& request, const MessageStatus& outcome,
                    std::optional<base::Error> error) {
  unlink(request);
  request.complete(outcome, std::move(error));
}

void Receiving::cancel(ReceiveRequest& request) {
  if (request.with_provider) return collaborators_.provider.cancel(request);
  if (!request.posted) return;  // done, or matched: too late to cancel
  MessageStatus outcome;
  outcome.cancelled = true;
  end(request, outcome, std::nullopt);
}

void Receiving::free(ReceiveRequest& request) {
  if (request.is_freed_while_active) freed_.erase(&request);
  requests_.release(&request);
}

void Receiving::record_freed(ReceiveRequest& request) {
  if (request.address.plane != Plane::user) return;
  if (request.posted) {
    const Context& context = *request.address.context;
    const int source = request.address.rank;
    if (source == kAnySource ? context.size == 1
                             : context.spec.members->at(source) == collaborators_.self)
      return;
  }
  request.is_freed_while_active = true;
  freed_.insert(&request);
}

bool Receiving::has_no_freed(const Context& context) const {
  return std::ranges::none_of(freed_, [&](const ReceiveRequest* request) {
    return (!request->posted && !request->with_provider) || request->address.context == &context;
  });
}

void Receiving::take_message(Context& context, StoredMessage& message) {
  context.matching(Plane::user).remove(message);
  message.context = &context;
  context.retain();
}

}  // namespace shim::p2p
