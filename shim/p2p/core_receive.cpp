// SPDX-License-Identifier: BSD-3-Clause
// Implements receives: incoming packets, matching, fast path, slow path.
#include <algorithm>
#include <string>

#include "shim/base/copy_between_cores.hpp"
#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {
// Polls on the fast path: slightly longer than another core takes to answer, far shorter than any
// other wait here.
constexpr int kFastPathPolls = 50;
// With more processes than cores: by the second or third poll the sender has usually run.
constexpr int kOversubscribedPolls = 3;
// Fast-path receives in a row before a round polls all transports and runs registered work.
constexpr int kMaxFastPathsInARow = 16;
// If receives are already posted for a source, only one new receive in this many polls, for all of
// them. If each polled, this core would take the cache line of each message from the sender while
// the sender writes it.
constexpr unsigned kPostedPerPoll = 8;

/// Sets a pointer during its lifetime, which an exception may end.
template <typename T>
class PointerScope {
 public:
  PointerScope(T*& pointer, T& object) : pointer_(pointer) { pointer_ = &object; }
  ~PointerScope() { pointer_ = nullptr; }
  PointerScope(const PointerScope&) = delete;
  PointerScope& operator=(const PointerScope&) = delete;

 private:
  T*& pointer_;
};
}  // namespace

std::optional<base::Error> misfit(std::uint64_t bytes, int source, int tag,
                                  const ReceiveBuffer& into) {
  if (bytes == into.capacity()) return std::nullopt;
  const auto message = [&] {
    return "a message of " + std::to_string(bytes) + " bytes from rank " + std::to_string(source) +
           " with tag " + std::to_string(tag);
  };
  if (bytes > into.capacity())
    return base::Error(base::ErrorClass::truncate, message() + " exceeds the receive buffer of " +
                                                       std::to_string(into.capacity()) + " bytes");
  if (bytes % into.element_bytes() != 0)
    return base::Error(base::ErrorClass::type,
                       message() + " is no multiple of the receiver's element size (" +
                           std::to_string(into.element_bytes()) +
                           " bytes); the datatypes of sender and receiver do not match");
  return std::nullopt;
}

/// A packet with a whole message that needs no answer to its sender.
struct WholeMessage {
  wire::EagerWords header;
  std::uint64_t number = 0;  ///< 0: none
  transport::ConstSpan payload;

  MessageInfo info() const {
    return {header.kind(), header.source(), header.tag(), header.bytes(), number, 0, payload, 0,
            header.from()};
  }
};

namespace {

/// Return false if the packet, which is long enough, is of another kind.
[[gnu::always_inline]] inline bool read_short(transport::ConstSpan packet, WholeMessage& message) {
  const std::uint64_t first = wire::word_at<std::uint32_t>(packet, 0);
  if (static_cast<wire::PacketType>(first & 0xff) != wire::PacketType::eager_short) return false;
  const std::uint64_t last = wire::word_at(packet, 12);
  message.header = wire::EagerWords::of_short(first, wire::word_at(packet, 4), last,
                                              packet.size() - wire::ShortEager::kBytes);
  message.number = last >> 16;
  message.payload = packet.subspan(wire::ShortEager::kBytes);
  return true;
}

/// Return false if the packet is of another kind, or not as long as its header states.
[[gnu::always_inline]] inline bool read_whole(transport::ConstSpan packet, WholeMessage& message) {
  if (packet.size() < wire::ShortEager::kBytes) [[unlikely]]
    return false;
  if (read_short(packet, message)) [[likely]]
    return true;
  if (packet.size() < sizeof(wire::Eager)) [[unlikely]]
    return false;
  const wire::EagerWords header = wire::EagerWords::of(packet);
  std::size_t front = sizeof(wire::NumberedEager);
  if (header.kind() != wire::PacketType::eager_numbered) {
    if (header.kind() != wire::PacketType::eager) [[unlikely]]
      return false;
    front = sizeof(wire::Eager);
  }
  if (packet.size() - front != header.bytes()) [[unlikely]]
    return false;
  message.header = header;
  message.number = front == sizeof(wire::Eager) ? 0 : wire::word_at(packet, 24);
  message.payload = packet.subspan(front);
  return true;
}

}  // namespace

/// Deliver to a receive that matching has just returned. The usual message fills a contiguous
/// buffer exactly; deliver_posted() handles all others.
[[gnu::always_inline]] inline void Core::deliver_whole(PostedReceive& posted,
                                                       const WholeMessage& message,
                                                       Context& context) {
  auto& request = static_cast<ReceiveRequest&>(posted);
  const wire::EagerWords& header = message.header;
  if (header.bytes() != request.into.capacity() || !request.into.is_one_run() ||
      request.is_in_drain) [[unlikely]]
    return deliver_posted(posted, message.info(), context);
  ++counts.posted_matches;
  request.posted = false;
  base::copy_from_other_core(request.into.begin(), message.payload.data(), message.payload.size());
  request.succeed({header.source(), header.tag(), header.bytes()});
  drop(context);
}

/// Handle a whole message; usually a receive is posted for it.
[[gnu::always_inline]] inline void Core::on_whole_message(const WholeMessage& message) {
  const wire::EagerWords& header = message.header;
  Context* context = contexts_.find(user_plane_of(header.context));
  if (context != nullptr && header.source() >= 0 && header.source() < context->size &&
      header.tag() >= 0) [[likely]] {
    if (PostedReceive* posted = context->matching(plane_of(header.context))
                                    .take_posted(header.source(), header.tag()))
      return deliver_whole(*posted, message, *context);
  }
  on_message(message.info(), header.context);
}

/// True if the message is for the receive on the fast path. No receive of its plane is posted
/// before that one. A matching message that needs an answer is left to the slow path, and so are
/// all behind it.
[[gnu::always_inline]] inline bool Core::match_expected(const wire::EagerWords& message,
                                                        transport::ConstSpan payload,
                                                        bool is_whole) {
  ExpectedRecv& expected = *expected_;
  if (expected.is_received || expected.needs_slow_path || !expected.accepts(message)) return false;
  expected.needs_slow_path = !is_whole;
  if (expected.needs_slow_path) return false;
  ++counts.posted_matches;
  const std::uint64_t capacity = expected.into.bytes(),
                      bytes = std::min<std::uint64_t>(message.bytes(), capacity);
  base::copy_from_other_core(expected.into.address, payload.data(),
                             static_cast<std::size_t>(bytes));
  *expected.received = {message.source(), message.tag(), bytes};
  expected.is_received = true;
  if (message.bytes() == capacity) [[likely]]
    return true;
  if (auto error = misfit(message.bytes(), message.source(), message.tag(),
                          ReceiveBuffer(expected.into)))
    expected.received = *std::move(error);
  return true;
}

/// Return false, which ends the poll, once all receives that the poll is for have their messages.
bool Core::on_packet(transport::ConstSpan packet) {
  WholeMessage message;
  if (!read_whole(packet, message)) [[unlikely]]
    handle_packet(packet);
  else if (expected_ == nullptr) [[likely]]
    return on_whole_message(message), !is_served();
  else if (!match_expected(message.header, message.payload, true))
    on_message(message.info(), message.header.context);
  return expected_ == nullptr ? !is_served() : !expected_->is_received;
}

void Core::handle_packet(transport::ConstSpan packet) {
  if (packet.empty()) return;
  switch (static_cast<wire::PacketType>(packet[0])) {
    case wire::PacketType::eager:
    case wire::PacketType::eager_numbered:
    case wire::PacketType::eager_short:
      ++counts.stale_dropped;  // shorter than its header states
      break;
    case wire::PacketType::eager_synchronous:
      if (auto header = wire::read<wire::NumberedEager>(packet)) {
        const wire::Eager& message = header->message;
        const transport::ConstSpan payload = packet.subspan(sizeof *header);
        if (expected_ != nullptr) match_expected(wire::EagerWords::of(packet), payload, false);
        on_message(info_of(*header, payload), message.context);
      }
      break;
    case wire::PacketType::ready_to_send:
      if (auto header = wire::read<wire::ReadyToSend>(packet)) {
        const wire::Eager& message = header->message;
        if (expected_ != nullptr) match_expected(wire::EagerWords::of(packet), {}, false);
        on_message(info_of(*header, {}), message.context);
      }
      break;
    case wire::PacketType::clear_to_send:
      if (auto header = wire::read<wire::ClearToSend>(packet)) rendezvous.on_clear_to_send(*header);
      break;
    case wire::PacketType::share:
      if (auto header = wire::read<wire::Share>(packet)) shared_copies.on_share(*header);
      break;
    case wire::PacketType::data:
      if (auto header = wire::read<wire::Data>(packet))
        rendezvous.on_data(*header, packet.subspan(sizeof *header));
      break;
    case wire::PacketType::finished:
      if (auto header = wire::read<wire::Finished>(packet)) on_finished(*header);
      break;
    case wire::PacketType::cancel:
      if (auto header = wire::read<wire::Cancel>(packet)) cancelling.on_cancel(*header);
      break;
    case wire::PacketType::cancelled:
      if (auto header = wire::read<wire::Cancelled>(packet)) cancelling.on_cancelled_reply(*header);
      break;
    case wire::PacketType::throttle:
    case wire::PacketType::unthrottle:
      if (auto header = wire::read<wire::Flow>(packet)) on_flow(*header);
      break;
    case wire::PacketType::collectives_failed:
      if (auto notice = wire::read<wire::CollectivesFailed>(packet))
        collective_failures.on_collectives_failed(*notice);
      break;
    case wire::PacketType::call_after_refusal:
      if (auto notice = wire::read<wire::CallAfterRefusal>(packet))
        collective_failures.on_call_after_refusal(*notice);
      break;
    case wire::PacketType::refused:
      if (auto header = wire::read<wire::Refused>(packet)) collective_failures.on_refused(*header);
      break;
    case wire::PacketType::control:
      if (auto header = wire::read<wire::Control>(packet))
        on_control(*header, packet.subspan(sizeof *header));
      break;
  }
}

void Core::on_message(const MessageInfo& info, base::ContextId id) {
  const Plane plane = plane_of(id);
  id = user_plane_of(id);
  Context* context = contexts_.find(id);
  bool sensible = info.source >= 0 && info.tag >= 0 &&
                  (context == nullptr || info.source < context->size) && is_whole(info);
  if (!sensible || (context == nullptr && contexts_.has_ended(id))) {
    ++counts.stale_dropped;
    if (sensible) collective_failures.refuse(info);
    return;
  }
  PostedReceive* posted = context == nullptr
                              ? nullptr
                              : context->matching(plane).take_posted(info.source, info.tag);
  if (posted != nullptr) return deliver_posted(*posted, info, *context);
  if (context != nullptr && context->is_revoked) [[unlikely]]
    return collective_failures.refuse(info);
  StoredMessage* message = unexpected_.keep(info, plane);
  if (context == nullptr)
    contexts_.hold(id, *message);
  else
    context->matching(plane).add(*message);
}

/// Deliver to a receive that matching has just returned.
void Core::deliver_posted(PostedReceive& posted, const MessageInfo& info, Context& context) {
  ++counts.posted_matches;
  auto& request = static_cast<ReceiveRequest&>(posted);
  request.posted = false;
  request.clear_failure_pending();
  provider.remove_posted(request);
  deliver(request, info, context);
  drop(context);
}

/// True if no other message or receive is bypassed, and no operation of ours waits for a round.
bool Core::may_take_fast_path(const ExpectedRecv& expected) {
  Context& context = *expected.address.context;
  Matching& matching = context.matching(expected.address.plane);
  if (may_match_in_provider_ &&
      provider.may_match(context, expected.address.rank, expected.address.plane))
    return false;
  if (context.has_failures || matching.has_posted() ||
      matching.find_unexpected(expected.address.rank, expected.address.tag) != nullptr)
    return false;
  if (!busy_.empty() || rendezvous.has_reads() || shared_copies.has_writes() ||
      !unrouted_.empty() || !inbox_.is_empty())
    return false;
  if (++fast_paths_in_a_row_ < kMaxFastPathsInARow) [[likely]]
    return true;
  fast_paths_in_a_row_ = 0;
  return loop.work().empty() && !is_other_engine_due();
}

/// Fast-path receives count as rounds, so that other engines are polled even if no receive ever
/// waits.
bool Core::is_other_engine_due() {
  if (!engines_->are_several()) return false;
  return loop.count_rounds(kMaxFastPathsInARow);
}

/// Poll once for a receive on the fast path: only the link to its sender, if that is known and no
/// full poll is due. Other senders' messages would only be stored as unexpected, which costs more
/// than the message.
int Core::poll_for(const ExpectedRecv& expected, base::Status& status) {
  const MessageAddress& from = expected.address;
  const Peer* sender = from.rank >= 0 && fast_paths_in_a_row_ != 0
                           ? from.context->known_peer(from.rank)
                           : nullptr;
  if (sender == nullptr || sender->link == nullptr) return poll_all(false, status);
  auto packets = sender->transport->poll_link(*sender->link, *this);
  if (packets) [[likely]]
    return *packets;
  status = std::move(packets).error();
  return 0;
}

bool Core::receive_at_once(ExpectedRecv& expected) {
  for (int looks = loop.is_oversubscribed() ? kOversubscribedPolls : 1;; --looks) {
    if (poll_once(expected)) return true;
    if (looks == 1 || !expected.can_retry) return false;
    sched_yield();
  }
}

/// Poll up to kFastPathPolls times under the lock. Return as receive_at_once does.
[[gnu::always_inline]] inline bool Core::poll_once(ExpectedRecv& expected) {
  Guard guard = enter();
  expected.can_retry = may_take_fast_path(expected);
  if (!expected.can_retry) return false;
  const bool is_alone = !loop.is_oversubscribed() && !lock_.is_shared();
  const Context& context = *expected.address.context;
  expected.context = context.id_of(expected.address.plane);
  expected.sources = context.size;
  base::Status polled;
  {
    const PointerScope polling(expected_, expected);
    for (int polls = is_alone ? kFastPathPolls : 1; polls > 0; --polls) {
      if (poll_for(expected, polled) != 0 || !polled) break;
    }
  }
  expected.can_retry = !expected.needs_slow_path;
  if (expected.is_received || polled) return expected.is_received;
  expected.received = std::move(polled).error();
  return true;
}

namespace {

/// True if the message can be received without a request, which could hold an error.
[[gnu::always_inline]] inline bool suits(const wire::EagerWords& message,
                                         const MessageAddress& from, const types::Buffer& into) {
  if (!from.accepts_tag(message.tag())) return false;
  if (message.bytes() == into.bytes()) [[likely]]
    return true;
  return !misfit(message.bytes(), message.source(), message.tag(), ReceiveBuffer(into));
}

}  // namespace

/// Poll for the receives posted for this source, until none is left. True if none is left.
bool Core::serve_posted(Context& context, Matching& matching, int source) {
  const Peer* sender = context.known_peer(source);
  if (sender == nullptr || sender->link == nullptr) return false;
  {
    const PointerScope<const Matching> serving(served_, matching);
    served_source_ = source;
    static_cast<void>(
        sender->transport->poll_link(*sender->link, *this));  // an error is left to the next round
  }
  return !matching.has_posted_for(source);
}

[[gnu::always_inline]] inline bool Core::receive_if_arrived(const MessageAddress& from,
                                                            const types::Buffer& into,
                                                            MessageStatus& received) {
  if (from.rank < 0) return false;
  Context& context = *from.context;
  Matching& matching = context.matching(from.plane);
  if (matching.has_posted_for(from.rank)) {  // arriving messages belong to these receives
    if (++posted_behind_others_ % kPostedPerPoll != 0 ||
        !serve_posted(context, matching, from.rank))
      return false;
  }
  if (is_round_due()) [[unlikely]]
    return false;  // the next round receives it
  const Peer* sender = context.known_peer(from.rank);
  if (sender == nullptr || sender->link == nullptr || !into.type->contiguous ||
      context.has_failures)
    return false;
  if (matching.find_unexpected(from.rank, from.tag) != nullptr) return false;
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

base::Result<MessageStatus> Core::receive(const MessageAddress& from, const types::Buffer& into) {
  ReceiveRequest request(this, from, into);
  request.caller = Caller::waits;
  {
    Guard guard = enter();
    SHIM_TRY(start(request));
  }
  SHIM_TRY(finish(request));
  return request.outcome();
}

void Core::deliver(ReceiveRequest& request, const MessageInfo& info, Context& context) {
  if (info.kind == wire::PacketType::ready_to_send)
    return rendezvous.begin(request, info, peer(context, info.source));
  if (info.kind == wire::PacketType::eager_synchronous) {
    wire::Finished reply;
    reply.send = info.number;
    transmit(peer(context, info.source), reply);
  }
  request.into.put(0, info.payload);
  end(request, {info.source, info.tag, std::min(info.bytes, request.into.capacity())},
      misfit(info.bytes, info.source, info.tag, request.into));
}

/// Post in our own queues.
[[gnu::always_inline]] inline void Core::post(ReceiveRequest& request) {
  Context& context = *request.address.context;
  context.matching(request.address.plane).post(request);
  request.posted = true;
  retain(context);
  if (may_match_in_provider_) provider.add_posted(request);
}

[[gnu::always_inline]] inline base::Status Core::find_or_post(ReceiveRequest& request) {
  Context& context = *request.address.context;
  Matching& matching = context.matching(request.address.plane);
  request.source = request.address.rank;
  request.tag = request.address.tag;
  const base::Error* failure = nullptr;
  if (context.has_failures) [[unlikely]] {
    failure = failure_of(request.address);
    // search no unexpected message: it may announce memory that the sender's program uses again
    if (context.collective_failure && failure == &*context.collective_failure)
      return failure->clone();
  }
  if (UnexpectedMsg* unexpected = matching.find_unexpected(request.source, request.tag)) {
    matching.remove(*unexpected);
    auto& message = static_cast<StoredMessage&>(*unexpected);
    deliver(request, message.info, context);
    unexpected_.free(message);
    return {};
  }
  const bool is_pending = failure != nullptr && context.unacknowledged &&
                          failure == &*context.unacknowledged && request.outlives_failures;
  if (failure != nullptr && !is_pending) [[unlikely]]
    return failure->clone();
  if (!may_match_in_provider_ || !provider.start(request)) post(request);
  if (is_pending) [[unlikely]]
    request.set_failure_pending();
  return {};
}

base::Status Core::start(ReceiveRequest& request) { return find_or_post(request); }

/// Defined here instead of p2p_engine.cpp, so that all of it is one function.
base::Result<Request*> PointToPoint::receive_or_start(Context& context, const types::Buffer& into,
                                                      int source, int tag,
                                                      MessageStatus& received) {
  if (source == kProcNull) [[unlikely]] {
    received = kNoMessage;
    return nullptr;
  }
  EngineLock::Scope lock(core_->lock());
  const MessageAddress from{&context, source, tag, Plane::user};
  if (core_->receive_if_arrived(from, into, received)) return nullptr;
  ReceiveRequest* request = core_->receives.make(core_, from, into);
  request->outlives_failures = true;
  return core_->started(core_->find_or_post(*request), *request);
}

void Core::start_matched(ReceiveRequest& request, StoredMessage& message) {
  Context& context = *message.context;
  if (context.is_revoked) [[unlikely]] {
    collective_failures.refuse(message.info);
    request.complete({message.source, message.tag, 0}, context.collective_failure->clone());
  } else {
    deliver(request, message.info, context);
  }
  unexpected_.free(message);
  drop(context);
}

void Core::unlink(ReceiveRequest& request) {
  rendezvous.forget(request);
  if (request.with_provider) {
    provider.detach(request);
    drop(*request.address.context);
  }
  if (request.peer != nullptr) rendezvous.forget_sender(request);
  if (std::exchange(request.posted, false)) {
    provider.remove_posted(request);
    Context& context = *request.address.context;
    context.matching(request.address.plane).remove(request);
    drop(context);
  }
}

void Core::end(ReceiveRequest& request, const MessageStatus& outcome,
               std::optional<base::Error> error) {
  unlink(request);
  request.complete(outcome, std::move(error));
}

void Core::abandon(ReceiveRequest& request) { unlink(request); }

void Core::cancel(ReceiveRequest& request) {
  if (request.with_provider) return provider.cancel(request);
  if (!request.posted) return;  // done, or matched: too late to cancel
  MessageStatus outcome;
  outcome.cancelled = true;
  end(request, outcome, std::nullopt);
}

}  // namespace shim::p2p
