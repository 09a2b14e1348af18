// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/provider_matching.hpp"

#include <utility>

#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

// Rounds of draining after a probe that found nothing (programs probe repeatedly), or after the
// provider has rejected a receive.
constexpr int kDrainRounds = 64;

/// Return the message in a packet and its context; nothing for other packets.
std::optional<MessageInfo> message_in(transport::ConstSpan packet, base::ContextId& context) {
  if (packet.empty()) return std::nullopt;
  std::optional<MessageInfo> info;
  const auto take = [&]<typename Header>(const std::optional<Header>& header, const auto& message) {
    if (!header) return;
    context = message(*header).context;
    info = info_of(*header, packet.subspan(sizeof(Header)));
  };
  switch (static_cast<wire::PacketType>(packet[0])) {
    case wire::PacketType::eager:
      take(wire::read<wire::Eager>(packet), [](const auto& header) { return header; });
      break;
    case wire::PacketType::eager_numbered:
    case wire::PacketType::eager_synchronous:
      take(wire::read<wire::NumberedEager>(packet),
           [](const auto& header) { return header.message; });
      break;
    case wire::PacketType::ready_to_send:
      take(wire::read<wire::ReadyToSend>(packet),
           [](const auto& header) { return header.message; });
      break;
    default:
      break;
  }
  return info;
}

}  // namespace

/// True if a message for this receive may come from the provider. While the link to its source is
/// unknown it may, and the link is requested.
bool ProviderMatching::may_match(Context& context, int source, Plane plane) {
  if (!collaborators_.is_enabled) return false;
  if (source == kAnySource) {
    for (int rank = 0; rank < context.size; ++rank) {
      if (may_match(context, rank, plane)) return true;
    }
    return false;
  }
  Peer& from = collaborators_.peers.at(context, source);
  if (from.process == collaborators_.self || from.failure) return false;
  if (from.link == nullptr) {
    collaborators_.routes.request_route(from);
    return true;
  }
  if (!from.transport->may_match()) return false;
  const transport::Matcher* matcher = from.transport->matcher();
  return matcher == nullptr || matcher->takes(context.id_of(plane), source);
}

/// Post a receive to its transport; false if the transport rejects it, or cannot accept it now.
bool ProviderMatching::post_to_provider(ReceiveRequest& request) {
  const auto& [context, rank, tag, plane] = request.address;
  if (rank == kAnySource) return false;
  Peer& from = collaborators_.peers.at(*context, rank);
  transport::Matcher* matcher = from.link == nullptr ? nullptr : from.transport->matcher();
  if (matcher == nullptr || !matcher->takes(context->id_of(plane), rank)) return false;
  const transport::Envelope wanted{context->id_of(plane), rank,
                                   tag == kAnyTag ? transport::kMatchAnyTag : tag};
  const auto posted = matcher->post(request, *from.link, wanted);
  if (!posted || *posted != transport::Attempt::done)
    return false;  // an error is left to the next poll
  request.with_provider = true;
  request.peer = &from;
  from.provider_receives.push_back(request);
  return true;
}

/// Post a receive whose messages may come from the provider, unless others must be posted first.
bool ProviderMatching::start(ReceiveRequest& request) {
  const MessageAddress& from = request.address;
  if (from.context->drain_of(from.plane).count != 0 || !post_to_provider(request)) return false;
  from.context->retain();
  return true;
}

/// Add a receive that has been posted in our queues.
void ProviderMatching::add_posted(ReceiveRequest& request) {
  const MessageAddress& from = request.address;
  if (!may_match(*from.context, request.source, from.plane)) return;
  ProviderDrain& drain = from.context->drain_of(from.plane);
  if (drain.count++ == 0) active_drains_.push_back(&drain);
  if (request.source == kAnySource) ++drain.any;
  request.is_in_drain = true;
  drain.receives.push_back(request);
  transport::Matcher* matcher = collaborators_.transports.matcher();
  if (matcher != nullptr && !matcher->is_draining(from.context->id_of(from.plane)))
    matcher->set_drain(due_drain(*matcher));
}

void ProviderMatching::remove_posted(ReceiveRequest& request) {
  if (!std::exchange(request.is_in_drain, false)) return;
  ProviderDrain& drain = request.address.context->drain_of(request.address.plane);
  drain.receives.erase(drain.receives.iterator_to(request));
  if (request.source == kAnySource) --drain.any;
  if (--drain.count == 0) std::erase(active_drains_, &drain);
}

/// True if the messages of all receives in the drain are known to come from the provider. First
/// removes receives whose messages are now known to come over another transport.
bool ProviderMatching::is_link_known(ProviderDrain& drain) {
  bool is_known = true;
  for (auto next = drain.receives.begin(); next != drain.receives.end();) {
    ReceiveRequest& request = *next++;
    const MessageAddress& from = request.address;
    if (!may_match(*from.context, from.rank, from.plane))
      remove_posted(request);
    else if (collaborators_.peers.at(*from.context, from.rank).link == nullptr)
      is_known = false;
  }
  return is_known;
}

/// Return the messages to drain: none if all waiting receives could move to the provider; one
/// context's if it alone has receives from any source; else all.
transport::DrainScope ProviderMatching::due_drain(const transport::Matcher& matcher) {
  using transport::DrainScope;
  if (drain_rounds_ > 0) return DrainScope::all();
  DrainScope due = DrainScope::none();
  std::size_t others = 0;
  for (const ProviderDrain* drain : active_drains_) {
    const base::ContextId id = drain->context->id_of(drain->plane);
    if (drain->any == 0)
      others += drain->count;
    else if (due.is_none() && matcher.takes(id, 0))
      due = DrainScope::of(id);
    else
      return DrainScope::all();
  }
  if (others > matcher.free_receives()) return DrainScope::all();
  for (std::size_t i = active_drains_.size();
       i-- > 0;) {  // backwards, because empty drains are removed
    if (active_drains_[i]->any == 0 && !is_link_known(*active_drains_[i])) return DrainScope::all();
  }
  return due;
}

/// Move the receives in the order of posting; false if the provider rejects one.
bool ProviderMatching::move_to_provider(ProviderDrain& drain) {
  while (drain.count != 0) {
    ReceiveRequest& request = drain.receives.front();
    if (!post_to_provider(request)) return false;
    remove_posted(request);
    request.posted = false;
    request.address.context->matching(request.address.plane)
        .remove(request);  // keeps the request's reference to the context
  }
  return true;
}

/// Move the receives of contexts that are no longer drained.
void ProviderMatching::move_to_provider(const transport::Matcher& matcher) {
  for (std::size_t i = active_drains_.size(); i-- > 0;) {
    ProviderDrain& drain = *active_drains_[i];
    const bool may_move = drain.any == 0 && !matcher.is_draining(drain.context->id_of(drain.plane));
    if (may_move && !move_to_provider(drain)) drain_rounds_ = kDrainRounds;
  }
}

/// Called once per round.
void ProviderMatching::progress() {
  transport::Matcher* matcher = collaborators_.transports.matcher();
  if (matcher == nullptr) return;
  if (drain_rounds_ > 0) --drain_rounds_;
  const transport::DrainScope due = due_drain(*matcher);
  matcher->set_drain(due);
  if (!due.is_all()) move_to_provider(*matcher);
}

/// Called by a probe that found nothing in our queues.
bool ProviderMatching::drain_for_probe(Context& context, int source) {
  if (!may_match(context, source, Plane::user)) [[likely]]
    return false;
  drain_rounds_ = kDrainRounds;
  if (transport::Matcher* matcher = collaborators_.transports.matcher())
    matcher->set_drain(transport::DrainScope::all());
  return true;
}

/// Unlink a receive that its transport no longer holds.
void ProviderMatching::unlink(ReceiveRequest& request) {
  request.with_provider = false;
  Peer& from = *std::exchange(request.peer, nullptr);
  from.provider_receives.erase(from.provider_receives.iterator_to(request));
}

void ProviderMatching::detach(ReceiveRequest& request) {
  request.peer->transport->matcher()->detach(request);
  unlink(request);
}

void ProviderMatching::cancel(ReceiveRequest& request) {
  request.peer->transport->matcher()->cancel(request);
}

void ProviderMatching::on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) {
  auto& request = static_cast<ReceiveRequest&>(receive);
  Context& context = *request.address.context;
  unlink(request);
  base::ContextId id = 0;
  const std::optional<MessageInfo> info = message_in(packet, id);
  const bool is_match = info && id == context.id_of(request.address.plane) &&
                        info->source == request.address.rank &&
                        request.address.accepts_tag(info->tag) && is_whole(*info);
  if (!is_match) {  // from an unknown sender, or damaged: wait for the next message
    ++collaborators_.counts.stale_dropped;
    if (base::Status begun = collaborators_.receives.restart(request); !begun)
      collaborators_.operations.end(request, {}, std::move(begun).error());
  } else {
    ++collaborators_.counts.posted_matches;
    ++collaborators_.counts.matched_by_provider;
    collaborators_.receives.deliver(request, *info, context);
  }
  context.drop();
}

void ProviderMatching::on_cancelled(transport::MatchedReceive& receive) {
  auto& request = static_cast<ReceiveRequest&>(receive);
  Context& context = *request.address.context;
  unlink(request);
  collaborators_.operations.end(request, {.cancelled = true}, std::nullopt);
  context.drop();
}

}  // namespace shim::p2p
