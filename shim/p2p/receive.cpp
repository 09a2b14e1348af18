// SPDX-License-Identifier: BSD-3-Clause
// Receiving messages: packets come in, find their receive or wait for it.
#include <algorithm>
#include <string>

#include "shim/base/copy_between_cores.hpp"
#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {
// Somewhat longer than it takes another core to answer, and far shorter than anything else here may wait.
constexpr int kShortWayPolls = 50;
// Where processes outnumber cores: the sender has had its turn by the second or third look, mostly.
constexpr int kCrowdedLooks = 3;
// Receives that find their messages without a round of progress, before everybody else's packets and registered work have their turn.
constexpr int kShortWaysInARow = 16;
// Receives posted behind others before a look for what has come for them: most often for all of them, and those that follow need not be
// posted. A look at each would take the line of each message from its sender just when that writes it.
constexpr unsigned kPostedPerLook = 8;
}  // namespace

std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag, const Incoming& into) {
  if (bytes == into.capacity()) return std::nullopt;
  const auto message = [&] {
    return "a message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(source) + " with tag " + std::to_string(tag);
  };
  if (bytes > into.capacity())
    return base::Error(base::ErrorClass::truncate, message() + " came into a receive buffer of " + std::to_string(into.capacity()) + " bytes");
  if (bytes % into.element_bytes() != 0)
    return base::Error(base::ErrorClass::type, message() + " ends inside of an element, of which the receiver expects " +
                                                   std::to_string(into.element_bytes()) + " bytes each: its datatype does not match");
  return std::nullopt;
}

/// A packet that is a whole message, of which its sender wants to hear nothing.
struct WholeMessage {
  wire::EagerWords header;
  std::uint64_t number = 0;  ///< 0 where it has none
  transport::ConstSpan payload;

  Arrival arrival() const { return {header.kind(), header.source(), header.tag(), header.bytes(), number, 0, payload, 0, header.from()}; }
};

namespace {

/// False where it is another packet. This one is long enough.
[[gnu::always_inline]] inline bool read_short(transport::ConstSpan packet, WholeMessage& message) {
  const std::uint64_t first = wire::word_at<std::uint32_t>(packet, 0);
  if (static_cast<wire::Kind>(first & 0xff) != wire::Kind::eager_short) return false;
  const std::uint64_t last = wire::word_at(packet, 12);
  message.header = wire::EagerWords::of_short(first, wire::word_at(packet, 4), last, packet.size() - wire::ShortEager::kBytes);
  message.number = last >> 16;
  message.payload = packet.subspan(wire::ShortEager::kBytes);
  return true;
}

/// False where it is another packet, or none.
[[gnu::always_inline]] inline bool read_whole(transport::ConstSpan packet, WholeMessage& message) {
  if (packet.size() < wire::ShortEager::kBytes) [[unlikely]] return false;
  if (read_short(packet, message)) [[likely]] return true;
  if (packet.size() < sizeof(wire::Eager)) [[unlikely]] return false;
  const wire::EagerWords header = wire::EagerWords::of(packet);
  std::size_t front = sizeof(wire::NumberedEager);
  if (header.kind() != wire::Kind::eager_numbered) {
    if (header.kind() != wire::Kind::eager) [[unlikely]] return false;
    front = sizeof(wire::Eager);
  }
  if (packet.size() - front != header.bytes()) [[unlikely]] return false;
  message.header = header;
  message.number = front == sizeof(wire::Eager) ? 0 : wire::word_at(packet, 24);
  message.payload = packet.subspan(front);
  return true;
}

}  // namespace

/// To a receive that matching has just given out: mostly a message that fits, which leaves nothing to be undone.
[[gnu::always_inline]] inline void Core::deliver_whole(Posted& posted, const WholeMessage& message, Context& context) {
  auto& request = static_cast<ReceiveRequest&>(posted);
  const wire::EagerWords& header = message.header;
  if (header.bytes() != request.into.capacity() || !request.into.is_one_run() || matches_below_) [[unlikely]]
    return deliver_posted(posted, message.arrival(), context);
  ++counts.posted_matches;
  request.posted = false;
  base::copy_from_other_core(request.into.begin(), message.payload.data(), message.payload.size());
  request.succeed({header.source(), header.tag(), header.bytes()});
  drop(context);
}

/// Mostly there is a receive for it.
[[gnu::always_inline]] inline void Core::on_whole_message(const WholeMessage& message) {
  const wire::EagerWords& header = message.header;
  Context* context = contexts_.find(user_plane_of(header.context));
  if (context != nullptr && header.source() >= 0 && header.source() < context->size && header.tag() >= 0) [[likely]] {
    if (Posted* posted = context->matching(plane_of(header.context)).take_posted(header.source(), header.tag()))
      return deliver_whole(*posted, message, *context);
  }
  on_message(message.arrival(), header.context);
}

/// Is it what a receive on the short way polls for? Nothing is posted before that one in its plane. A message that is its own, but wants
/// an answer, is for the long way, and so are those behind it.
[[gnu::always_inline]] inline bool Core::take_awaited(const wire::EagerWords& message, transport::ConstSpan payload, bool is_whole) {
  Awaited& awaited = *awaited_;
  if (awaited.has_come || awaited.is_for_long_way || !awaited.accepts(message)) return false;
  awaited.is_for_long_way = !is_whole;
  if (awaited.is_for_long_way) return false;
  ++counts.posted_matches;
  const std::uint64_t capacity = awaited.into.bytes(), bytes = std::min<std::uint64_t>(message.bytes(), capacity);
  base::copy_from_other_core(awaited.into.address, payload.data(), static_cast<std::size_t>(bytes));
  *awaited.received = {message.source(), message.tag(), bytes};
  awaited.has_come = true;
  if (message.bytes() == capacity) [[likely]] return true;
  if (auto error = misfit(message.bytes(), message.source(), message.tag(), Incoming(awaited.into))) awaited.received = *std::move(error);
  return true;
}

bool Core::on_packet(transport::ConstSpan packet) {
  WholeMessage message;
  if (!read_whole(packet, message)) [[unlikely]] take_packet(packet);
  else if (awaited_ == nullptr) [[likely]] return on_whole_message(message), !is_served();
  else if (!take_awaited(message.header, message.payload, true)) on_message(message.arrival(), message.header.context);
  return awaited_ == nullptr ? !is_served() : !awaited_->has_come;
}

void Core::take_packet(transport::ConstSpan packet) {
  if (packet.empty()) return;
  switch (static_cast<wire::Kind>(packet[0])) {
    case wire::Kind::eager:
    case wire::Kind::eager_numbered:
    case wire::Kind::eager_short:
      ++counts.stale_dropped;  // shorter than it says
      break;
    case wire::Kind::eager_synchronous:
      if (auto header = wire::read<wire::NumberedEager>(packet)) {
        const wire::Eager& message = header->message;
        const transport::ConstSpan payload = packet.subspan(sizeof *header);
        if (awaited_ != nullptr) take_awaited(wire::EagerWords::of(packet), payload, false);
        on_message(arrival_of(*header, payload), message.context);
      }
      break;
    case wire::Kind::ready_to_send:
      if (auto header = wire::read<wire::ReadyToSend>(packet)) {
        const wire::Eager& message = header->message;
        if (awaited_ != nullptr) take_awaited(wire::EagerWords::of(packet), {}, false);
        on_message(arrival_of(*header, {}), message.context);
      }
      break;
    case wire::Kind::clear_to_send:
      if (auto header = wire::read<wire::ClearToSend>(packet)) on_clear_to_send(*header);
      break;
    case wire::Kind::share:
      if (auto header = wire::read<wire::Share>(packet)) on_share(*header);
      break;
    case wire::Kind::data:
      if (auto header = wire::read<wire::Data>(packet)) on_data(*header, packet.subspan(sizeof *header));
      break;
    case wire::Kind::finished:
      if (auto header = wire::read<wire::Finished>(packet)) on_finished(*header);
      break;
    case wire::Kind::cancel:
      if (auto header = wire::read<wire::Cancel>(packet)) on_cancel(*header);
      break;
    case wire::Kind::cancelled:
      if (auto header = wire::read<wire::Cancelled>(packet)) on_cancelled(*header);
      break;
    case wire::Kind::hold_back:
    case wire::Kind::go_ahead:
      if (auto header = wire::read<wire::Flow>(packet)) on_flow(*header);
      break;
    case wire::Kind::collectives_failed:
      if (auto notice = wire::read<wire::CollectivesFailed>(packet)) on_collectives_failed(*notice);
      break;
    case wire::Kind::call_after_refusal:
      if (auto notice = wire::read<wire::CallAfterRefusal>(packet)) on_call_after_refusal(*notice);
      break;
    case wire::Kind::control:
      if (auto header = wire::read<wire::Control>(packet)) on_control(*header, packet.subspan(sizeof *header));
      break;
  }
}

void Core::on_message(const Arrival& arrival, base::ContextId id) {
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = contexts_.find(id);
  bool sensible = arrival.source >= 0 && arrival.tag >= 0 && (context == nullptr || arrival.source < context->size) && is_whole(arrival);
  if (!sensible || (context == nullptr && contexts_.is_over(id))) {
    ++counts.stale_dropped;
    return;
  }
  Posted* posted = context == nullptr ? nullptr : context->matching(plane).take_posted(arrival.source, arrival.tag);
  if (posted != nullptr) return deliver_posted(*posted, arrival, *context);
  Message* message = keep(arrival, plane);
  if (context == nullptr) contexts_.hold(id, *message);
  else context->matching(plane).add(*message);
}

/// To a receive that matching has just given out.
void Core::deliver_posted(Posted& posted, const Arrival& arrival, Context& context) {
  ++counts.posted_matches;
  auto& request = static_cast<ReceiveRequest&>(posted);
  request.posted = false;
  note_not_gathered(request);
  deliver(request, arrival, context);
  drop(context);
}

/// Not past another message or receive, nor while something of ours waits for a round of progress.
bool Core::may_take_short_way(const Awaited& awaited) {
  Context& context = *awaited.address.context;
  Matching& matching = context.matching(awaited.address.plane);
  if (matches_below_ && may_come_from_below(context, awaited.address.rank, awaited.address.plane)) return false;
  if (context.has_failures || matching.has_posted() || matching.find_arrived(awaited.address.rank, awaited.address.tag) != nullptr)
    return false;
  if (!busy_.empty() || !reads_.empty() || !shares_.empty() || !unrouted_.empty() || !inbox_.empty()) return false;
  if (++short_ways_ < kShortWaysInARow) [[likely]] return true;
  short_ways_ = 0;
  return work.empty() && !is_turn_of_other_engines();
}

/// Short ways count as rounds, so that others are looked after however long no receive has to wait.
bool Core::is_turn_of_other_engines() {
  if (!engines_->are_several()) return false;
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed) + kShortWaysInARow;
  rounds_.store(rounds, std::memory_order_relaxed);
  return rounds >= next_look_around_;
}

/// One look for the message of a receive on the short way: at the way to its sender alone, where that is known and it is not the others'
/// turn. What others have sent would only be put aside here, which costs more than the message.
int Core::poll_for(const Awaited& awaited, base::Status& status) {
  const Address& from = awaited.address;
  const Peer* sender = from.rank >= 0 && short_ways_ != 0 ? from.context->known_peer(from.rank) : nullptr;
  if (sender == nullptr || sender->link == nullptr) return poll_all(false, status);
  auto packets = sender->transport->poll_link(*sender->link, *this);
  if (packets) [[likely]] return *packets;
  status = std::move(packets).error();
  return 0;
}

bool Core::receive_at_once(Awaited& awaited) {
  for (int looks = is_crowded_.load(std::memory_order_relaxed) ? kCrowdedLooks : 1;; --looks) {
    if (look_once(awaited)) return true;
    if (looks == 1 || !awaited.is_worth_a_look) return false;
    sched_yield();
  }
}

/// Answers as receive_at_once.
[[gnu::always_inline]] inline bool Core::look_once(Awaited& awaited) {
  Guard guard = enter();
  awaited.is_worth_a_look = may_take_short_way(awaited);
  if (!awaited.is_worth_a_look) return false;
  const bool is_alone = !is_crowded_.load(std::memory_order_relaxed) && !lock_.is_shared();
  const Context& context = *awaited.address.context;
  awaited.context = context.id_of(awaited.address.plane);
  awaited.sources = context.size;
  base::Status polled;
  awaited_ = &awaited;
  for (int polls = is_alone ? kShortWayPolls : 1; polls > 0; --polls) {
    if (poll_for(awaited, polled) != 0 || !polled) break;
  }
  awaited_ = nullptr;
  awaited.is_worth_a_look = !awaited.is_for_long_way;
  if (awaited.has_come || polled) return awaited.has_come;
  awaited.received = std::move(polled).error();
  return true;
}

namespace {

/// May this message be received here, without a request that could keep an error?
[[gnu::always_inline]] inline bool suits(const wire::EagerWords& message, const Address& from, const types::Buffer& into) {
  if (!from.accepts_tag(message.tag())) return false;
  if (message.bytes() == into.bytes()) [[likely]] return true;
  return !misfit(message.bytes(), message.source(), message.tag(), Incoming(into));
}

}  // namespace

/// Looks for what has come for the receives that wait for this source, and for no more than they wait for. True: none waits any more.
bool Core::serve_posted(Context& context, Matching& matching, int source) {
  const Peer* sender = context.known_peer(source);
  if (sender == nullptr || sender->link == nullptr) return false;
  served_ = &matching;
  served_source_ = source;
  static_cast<void>(sender->transport->poll_link(*sender->link, *this));  // an error is the next round's to tell
  served_ = nullptr;
  return !matching.has_posted_for(source);
}

[[gnu::always_inline]] inline bool Core::receive_what_has_come(const Address& from, const types::Buffer& into, Outcome& received) {
  if (from.rank < 0) return false;
  Context& context = *from.context;
  Matching& matching = context.matching(from.plane);
  if (matching.has_posted_for(from.rank)) {  // what has come is theirs
    if (++posted_behind_others_ % kPostedPerLook != 0 || !serve_posted(context, matching, from.rank)) return false;
  }
  if (is_turn_of_others()) [[unlikely]] return false;  // the next round takes it
  const Peer* sender = context.known_peer(from.rank);
  if (sender == nullptr || sender->link == nullptr || !into.type->contiguous || context.has_failures) return false;
  if (matching.find_arrived(from.rank, from.tag) != nullptr) return false;
  const transport::ConstSpan packet = sender->transport->front(*sender->link);
  WholeMessage message;
  if (!read_whole(packet, message)) return false;
  const wire::EagerWords& header = message.header;
  if (header.context != context.id_of(from.plane) || header.source() != from.rank) return false;
  if (!suits(header, from, into)) return false;
  ++counts.posted_matches;
  base::copy_from_other_core(into.address, message.payload.data(), message.payload.size());
  received = {header.source(), header.tag(), header.bytes()};
  sender->transport->drop_front(*sender->link, packet);
  return true;
}

base::Result<Outcome> Core::receive(const Address& from, const types::Buffer& into) {
  ReceiveRequest request(*this, from, into);
  request.caller = Caller::waits;
  {
    Guard guard = enter();
    SHIM_TRY(start(request));
  }
  SHIM_TRY(finish(request));
  return request.outcome();
}

void Core::deliver(ReceiveRequest& request, const Arrival& arrival, Context& context) {
  if (arrival.kind == wire::Kind::ready_to_send) return begin_long(request, arrival, peer(context, arrival.source));
  if (arrival.kind == wire::Kind::eager_synchronous) {
    wire::Finished reply;
    reply.send = arrival.number;
    transmit(peer(context, arrival.source), reply);
  }
  request.into.put(0, arrival.payload);
  end(request, {arrival.source, arrival.tag, std::min(arrival.bytes, request.into.capacity())},
      misfit(arrival.bytes, arrival.source, arrival.tag, request.into));
}

/// In our own queues.
[[gnu::always_inline]] inline void Core::post(ReceiveRequest& request) {
  Context& context = *request.address.context;
  context.matching(request.address.plane).post(request);
  request.posted = true;
  retain(context);
  if (matches_below_) note_gathered(request);
}

[[gnu::always_inline]] inline base::Status Core::find_or_post(ReceiveRequest& request) {
  Context& context = *request.address.context;
  Matching& matching = context.matching(request.address.plane);
  request.source = request.address.rank;
  request.tag = request.address.tag;
  const base::Error* failure = nullptr;
  if (context.has_failures) [[unlikely]] {
    failure = failure_of(request.address);
    // an announcement may be of memory that its sender's caller has back
    if (context.collective_failure && failure == &*context.collective_failure) return failure->clone();
  }
  if (Arrived* arrived = matching.find_arrived(request.source, request.tag)) {
    matching.remove(*arrived);
    auto& message = static_cast<Message&>(*arrived);
    deliver(request, message.arrival, context);
    free_message(message);
    return {};
  }
  if (failure != nullptr) [[unlikely]] return failure->clone();
  if (!matches_below_ || !start_below(request)) post(request);
  return {};
}

base::Status Core::start(ReceiveRequest& request) { return find_or_post(request); }

/// Here and not with the other public functions, so that all of it is one call.
base::Result<Request*> Engine::receive_or_start(Context& context, const types::Buffer& into, int source, int tag, Outcome& received) {
  if (source == kProcNull) [[unlikely]] {
    received = kNoMessage;
    return nullptr;
  }
  Core::Inside inside(*core_);
  const Address from{&context, source, tag, Plane::user};
  if (core_->receive_what_has_come(from, into, received)) return nullptr;
  ReceiveRequest* request = core_->receives.make(*core_, from, into);
  return core_->started(core_->find_or_post(*request), *request);
}

void Core::start_matched(ReceiveRequest& request, Message& message) {
  Context& context = *message.context;
  deliver(request, message.arrival, context);
  free_message(message);
  drop(context);
}

void Core::unlink(ReceiveRequest& request) {
  if (request.id != 0) receive_ids_.remove(std::exchange(request.id, 0));
  if (std::exchange(request.reading, false)) reads_.erase(reads_.iterator_to(request));
  request.read.reset();
  if (request.below) {
    request.peer->transport->matcher()->forget(request);
    leave_below(request);
    drop(*request.address.context);
  }
  if (request.peer != nullptr) {
    stop_sharing(request);
    Peer& from = *std::exchange(request.peer, nullptr);
    from.incoming.erase(from.incoming.iterator_to(request));
  }
  if (std::exchange(request.posted, false)) {
    note_not_gathered(request);
    Context& context = *request.address.context;
    context.matching(request.address.plane).remove(request);
    drop(context);
  }
}

void Core::end(ReceiveRequest& request, const Outcome& outcome, std::optional<base::Error> error) {
  unlink(request);
  request.complete(outcome, std::move(error));
}

void Core::abandon(ReceiveRequest& request) { unlink(request); }

void Core::cancel(ReceiveRequest& request) {
  if (request.below) return request.peer->transport->matcher()->withdraw(request);
  if (!request.posted) return;  // done, or matched: too late
  Outcome outcome;
  outcome.cancelled = true;
  end(request, outcome, std::nullopt);
}

const base::Error* Core::failure_of(Context& context, int source) {
  if (context.failed == 0) return nullptr;
  if (source != kAnySource) {
    Peer* from = context.known_peer(source);
    return from != nullptr && from->failure ? &*from->failure : nullptr;
  }
  if (context.loser != nullptr) return &*context.loser->failure;
  if (context.failed < context.others) return nullptr;
  const base::Error* reason = nullptr;
  context.peers.for_each([&](int, Peer* from) {
    if (reason == nullptr && from != nullptr && from->failure) reason = &*from->failure;
  });
  return reason;
}

}  // namespace shim::p2p
