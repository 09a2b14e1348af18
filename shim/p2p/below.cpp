// SPDX-License-Identifier: BSD-3-Clause
// Receives that a transport matches ("below", transport/matching.hpp), and which of them: those that name their source, as long as no
// receive from any source is open in their context. One that is open stays in our own queues, since its message may come another way, and so
// do all later ones of its context whose messages may come from below; meanwhile the transport hands us all its messages that no earlier
// receive accepts. So do probes and recalled messages look into our queues alone.
#include "shim/transport/matching.hpp"

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

// After a probe that has found nothing, since programs probe in a row, and after a receive has not been taken below.
constexpr int kGatheredRounds = 64;

/// The message in a packet, and whose it is; nothing in any other packet.
std::optional<Arrival> message_in(transport::ConstSpan packet, base::ContextId& context) {
  if (packet.empty()) return std::nullopt;
  std::optional<Arrival> arrival;
  const auto take = [&]<typename Header>(const std::optional<Header>& header, const auto& message) {
    if (!header) return;
    context = message(*header).context;
    arrival = arrival_of(*header, packet.subspan(sizeof(Header)));
  };
  switch (static_cast<wire::Kind>(packet[0])) {
    case wire::Kind::eager: take(wire::read<wire::Eager>(packet), [](const auto& header) { return header; }); break;
    case wire::Kind::eager_numbered:
    case wire::Kind::eager_synchronous: take(wire::read<wire::NumberedEager>(packet), [](const auto& header) { return header.message; }); break;
    case wire::Kind::ready_to_send: take(wire::read<wire::ReadyToSend>(packet), [](const auto& header) { return header.message; }); break;
    default: break;
  }
  return arrival;
}

}  // namespace

transport::Matcher* Core::matcher() const {
  for (const Polled& polled : transports_) {
    if (transport::Matcher* found = polled.transport->matcher()) return found;
  }
  return nullptr;
}

/// A message of this header to the peer goes past its queues: null for one that does not.
transport::Matcher* Core::matcher_for(const Peer& to, const wire::Eager& message) const {
  transport::Matcher* matcher = to.transport->matcher();
  return matcher != nullptr && matcher->takes(message.context, message.source) ? matcher : nullptr;
}

/// May a message for this receive come from below? As long as the way to its source is not known it may, and the way is looked for.
bool Core::may_come_from_below(Context& context, int source, Plane plane) {
  if (!matches_below_) return false;
  if (source == kAnySource) {
    for (int rank = 0; rank < context.size; ++rank) {
      if (may_come_from_below(context, rank, plane)) return true;
    }
    return false;
  }
  Peer& from = peer(context, source);
  if (from.process == spec.self || from.failure) return false;
  if (from.link == nullptr) {
    want_route(from);
    return true;
  }
  if (!from.transport->may_match()) return false;
  const transport::Matcher* matcher = from.transport->matcher();
  return matcher == nullptr || matcher->takes(context.id_of(plane), source);
}

/// Gives a receive to its transport; false where that does not take it, or not now.
bool Core::post_below(ReceiveRequest& request) {
  const auto& [context, rank, tag, plane] = request.address;
  if (rank == kAnySource) return false;
  Peer& from = peer(*context, rank);
  transport::Matcher* matcher = from.link == nullptr ? nullptr : from.transport->matcher();
  if (matcher == nullptr || !matcher->takes(context->id_of(plane), rank)) return false;
  const transport::Envelope wanted{context->id_of(plane), rank, tag == kAnyTag ? transport::kEveryTag : tag};
  const auto posted = matcher->post(request, *from.link, wanted);
  if (!posted || *posted != transport::Attempt::done) return false;  // an error is the next poll's to tell
  request.below = true;
  request.peer = &from;
  from.below.push_back(request);
  return true;
}

/// A receive whose messages may come from below: goes there, unless others have to go first.
bool Core::start_below(ReceiveRequest& request) {
  const Address& from = request.address;
  if (from.context->gathered_in(from.plane).count != 0 || !post_below(request)) return false;
  retain(*from.context);
  return true;
}

/// A receive that has been posted in our queues.
void Core::note_gathered(ReceiveRequest& request) {
  const Address& from = request.address;
  if (!may_come_from_below(*from.context, request.source, from.plane)) return;
  Gathered& gathered = from.context->gathered_in(from.plane);
  if (gathered.count++ == 0) gathered_.push_back(&gathered);
  if (request.source == kAnySource) ++gathered.any;
  request.gathered = true;
  gathered.receives.push_back(request);
  transport::Matcher* below = matcher();
  if (below != nullptr && !below->is_gathering(from.context->id_of(from.plane))) below->gather(due_gathering(*below));
}

void Core::note_not_gathered(ReceiveRequest& request) {
  if (!std::exchange(request.gathered, false)) return;
  Gathered& gathered = request.address.context->gathered_in(request.address.plane);
  gathered.receives.erase(gathered.receives.iterator_to(request));
  if (request.source == kAnySource) --gathered.any;
  if (--gathered.count == 0) std::erase(gathered_, &gathered);
}

/// Is it known of all of them that their messages come from below? Sorts out those of which it has turned out that they do not.
bool Core::is_way_known(Gathered& gathered) {
  bool is_known = true;
  for (auto next = gathered.receives.begin(); next != gathered.receives.end();) {
    ReceiveRequest& request = *next++;
    const Address& from = request.address;
    if (!may_come_from_below(*from.context, from.rank, from.plane)) note_not_gathered(request);
    else if (peer(*from.context, from.rank).link == nullptr) is_known = false;
  }
  return is_known;
}

/// What has to be gathered: nothing, where all that wait here could go below; the messages of one context, where it is the only one with
/// receives from any source; else all.
transport::Gathering Core::due_gathering(const transport::Matcher& below) {
  using transport::Gathering;
  if (gathered_rounds_ > 0) return Gathering::all();
  Gathering due = Gathering::nothing();
  std::size_t others = 0;
  for (const Gathered* gathered : gathered_) {
    const base::ContextId id = gathered->context->id_of(gathered->plane);
    if (gathered->any == 0) others += gathered->count;
    else if (due.is_nothing() && below.takes(id, 0)) due = Gathering::of(id);
    else return Gathering::all();
  }
  if (others > below.room()) return Gathering::all();
  for (std::size_t i = gathered_.size(); i-- > 0;) {  // backwards: what is empty goes out of the list
    if (gathered_[i]->any == 0 && !is_way_known(*gathered_[i])) return Gathering::all();
  }
  return due;
}

/// In the order of posting; false where one is not taken.
bool Core::move_below(Gathered& gathered) {
  while (gathered.count != 0) {
    ReceiveRequest& request = gathered.receives.front();
    if (!post_below(request)) return false;
    note_not_gathered(request);
    request.posted = false;
    request.address.context->matching(request.address.plane).remove(request);  // which keeps its reference to the context
  }
  return true;
}

/// Those of contexts of which nothing is gathered any more.
void Core::move_below(const transport::Matcher& below) {
  for (std::size_t i = gathered_.size(); i-- > 0;) {
    Gathered& gathered = *gathered_[i];
    const bool may_move = gathered.any == 0 && !below.is_gathering(gathered.context->id_of(gathered.plane));
    if (may_move && !move_below(gathered)) gathered_rounds_ = kGatheredRounds;
  }
}

/// Once a round.
void Core::serve_below() {
  transport::Matcher* below = matcher();
  if (below == nullptr) return;
  if (gathered_rounds_ > 0) --gathered_rounds_;
  const transport::Gathering due = due_gathering(*below);
  below->gather(due);
  if (!due.is_all()) move_below(*below);
  if (!recalls_.empty()) answer_recalls(*below);
}

/// For a probe that has found nothing in our queues.
bool Core::look_below(Context& context, int source) {
  if (!may_come_from_below(context, source, Plane::user)) [[likely]] return false;
  gathered_rounds_ = kGatheredRounds;
  if (transport::Matcher* below = matcher()) below->gather(transport::Gathering::all());
  return true;
}

/// It is not with its transport any more.
void Core::leave_below(ReceiveRequest& request) {
  request.below = false;
  Peer& from = *std::exchange(request.peer, nullptr);
  from.below.erase(from.below.iterator_to(request));
}

void Core::on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) {
  auto& request = static_cast<ReceiveRequest&>(receive);
  Context& context = *request.address.context;
  leave_below(request);
  base::ContextId id = 0;
  const std::optional<Arrival> arrival = message_in(packet, id);
  const bool is_meant = arrival && id == context.id_of(request.address.plane) && arrival->source == request.address.rank &&
                        request.address.accepts_tag(arrival->tag) && is_whole(*arrival);
  if (!is_meant) {  // a stranger's, or damaged: the next one may be better
    ++counts.stale_dropped;
    if (base::Status begun = start(request); !begun) end(request, {}, std::move(begun).error());
  } else {
    ++counts.posted_matches;
    ++counts.matched_below;
    deliver(request, *arrival, context);
  }
  drop(context);
}

void Core::on_withdrawn(transport::MatchedReceive& receive) {
  auto& request = static_cast<ReceiveRequest&>(receive);
  Context& context = *request.address.context;
  leave_below(request);
  end(request, {.cancelled = true}, std::nullopt);
  drop(context);
}

/// Whose message is wanted back may have it below, where we cannot look: what is there is gathered first.
bool Core::recall_from_below(const wire::Cancel& wanted) {
  transport::Matcher* below = matches_below_ ? matcher() : nullptr;
  if (below == nullptr || !below->takes(wanted.context, wanted.source)) return false;
  recalls_.push_back({wanted, below->begin_sweep()});
  return true;
}

void Core::answer_recalls(const transport::Matcher& below) {
  std::vector<Recall> ready;
  std::erase_if(recalls_, [&](const Recall& recall) {
    const bool is_ready = below.sweeps() >= recall.sweep;
    if (is_ready) ready.push_back(recall);
    return is_ready;
  });
  for (const Recall& recall : ready) answer_recall(recall.wanted);
}

}  // namespace shim::p2p
