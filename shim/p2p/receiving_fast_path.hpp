// SPDX-License-Identifier: BSD-3-Clause
// Defines what a receive on the fast path inlines. By force: a call costs a short message as much
// as these functions.
#pragma once

#include "shim/base/copy_between_cores.hpp"
#include "shim/p2p/context_failures.hpp"
#include "shim/p2p/receiving.hpp"

namespace shim::p2p {

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

/// Deliver to a receive that matching has just returned. The usual message fills a contiguous
/// buffer exactly; deliver_posted() handles all others.
[[gnu::always_inline]] inline void Receiving::deliver_whole(PostedReceive& posted,
                                                            const WholeMessage& message,
                                                            Context& context) {
  auto& request = static_cast<ReceiveRequest&>(posted);
  const wire::EagerWords& header = message.header;
  if (header.bytes() != request.into.capacity() || !request.into.is_one_run() ||
      request.is_in_drain) [[unlikely]]
    return deliver_posted(posted, message.info(), context);
  ++collaborators_.counts.posted_matches;
  request.posted = false;
  base::copy_from_other_core(request.into.begin(), message.payload.data(), message.payload.size());
  request.succeed({header.source(), header.tag(), header.bytes()});
  context.drop();
}

/// True if the message is for the receive on the fast path. No receive of its plane is posted
/// before that one. A matching message that needs an answer is left to the slow path, and so are
/// all behind it.
[[gnu::always_inline]] inline bool Receiving::match_expected(const wire::EagerWords& message,
                                                             transport::ConstSpan payload,
                                                             bool is_whole) {
  ExpectedRecv& expected = *expected_;
  if (expected.is_received || expected.needs_slow_path || !expected.accepts(message)) return false;
  expected.needs_slow_path = !is_whole;
  if (expected.needs_slow_path) return false;
  ++collaborators_.counts.posted_matches;
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

[[gnu::always_inline]] inline bool Receiving::on_whole_message(const WholeMessage& message) {
  const wire::EagerWords& header = message.header;
  if (expected_ != nullptr) [[unlikely]] {
    if (!match_expected(header, message.payload, true)) on_message(message.info(), header.context);
    return is_poll_wanted();
  }
  Context* context = collaborators_.contexts.find(user_plane_of(header.context));
  PostedReceive* posted = nullptr;
  if (context != nullptr && header.source() >= 0 && header.source() < context->size &&
      header.tag() >= 0) [[likely]]
    posted = context->matching(plane_of(header.context)).take_posted(header.source(), header.tag());
  if (posted != nullptr)
    deliver_whole(*posted, message, *context);
  else
    on_message(message.info(), header.context);
  return !is_served();
}

[[gnu::always_inline]] inline bool Receiving::may_take_fast_path(const ExpectedRecv& expected) {
  const MessageAddress& from = expected.address;
  Context& context = *from.context;
  if (collaborators_.may_match_in_provider &&
      collaborators_.provider.may_match(context, from.rank, from.plane))
    return false;
  Matching& matching = context.matching(from.plane);
  return !context.has_failures && !matching.has_posted() &&
         matching.find_unexpected(from.rank, from.tag) == nullptr;
}

[[gnu::always_inline]] inline bool Receiving::is_round_due_after_fast_paths() {
  if (++fast_paths_in_a_row_ < kMaxFastPathsInARow) [[likely]]
    return false;
  fast_paths_in_a_row_ = 0;
  return true;
}

/// Poll once for a receive on the fast path: only the link to its sender, if that is known and no
/// full poll is due. Other senders' messages would only be stored as unexpected, which costs more
/// than the message.
[[gnu::always_inline]] inline int Receiving::poll_once(const ExpectedRecv& expected,
                                                       base::Status& status) {
  const MessageAddress& from = expected.address;
  const Peer* sender = from.rank >= 0 && fast_paths_in_a_row_ != 0
                           ? from.context->known_peer(from.rank)
                           : nullptr;
  if (sender == nullptr || sender->link == nullptr) return poll_all(false, status);
  auto packets = sender->transport->poll_link(*sender->link, collaborators_.sink);
  if (packets) [[likely]]
    return *packets;
  status = std::move(packets).error();
  return 0;
}

[[gnu::always_inline]] inline bool Receiving::poll_for(ExpectedRecv& expected, int polls) {
  const Context& context = *expected.address.context;
  expected.context = context.id_of(expected.address.plane);
  expected.sources = context.size;
  base::Status polled;
  {
    const PointerScope polling(expected_, expected);
    for (; polls > 0; --polls) {
      if (poll_once(expected, polled) != 0 || !polled) break;
    }
  }
  expected.can_retry = !expected.needs_slow_path;
  if (expected.is_received || polled) return expected.is_received;
  expected.received = std::move(polled).error();
  return true;
}

/// True if the message can be received without a request, which could hold an error.
[[gnu::always_inline]] inline bool suits(const wire::EagerWords& message,
                                         const MessageAddress& from, const types::Buffer& into) {
  if (!from.accepts_tag(message.tag())) return false;
  if (message.bytes() == into.bytes()) [[likely]]
    return true;
  return !misfit(message.bytes(), message.source(), message.tag(), ReceiveBuffer(into));
}

[[gnu::always_inline]] inline bool Receiving::receive_if_arrived(const MessageAddress& from,
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
  if (sender == nullptr || sender->receive_in_place == nullptr || !into.type->contiguous ||
      context.has_failures)
    return false;
  if (matching.find_unexpected(from.rank, from.tag) != nullptr) return false;
  const transport::ConstSpan packet = sender->receive_in_place->front(*sender->link);
  WholeMessage message;
  if (!read_whole(packet, message)) return false;
  const wire::EagerWords& header = message.header;
  if (header.context != context.id_of(from.plane) || header.source() != from.rank) return false;
  if (!suits(header, from, into)) return false;
  ++collaborators_.counts.posted_matches;
  base::copy_from_other_core(into.address, message.payload.data(), message.payload.size());
  received = {header.source(), header.tag(), header.bytes()};
  sender->receive_in_place->drop_front(*sender->link, packet);
  return true;
}

/// Post in our own queues.
[[gnu::always_inline]] inline void Receiving::post(ReceiveRequest& request) {
  Context& context = *request.address.context;
  context.matching(request.address.plane).post(request);
  request.posted = true;
  context.retain();
  if (collaborators_.may_match_in_provider) collaborators_.provider.add_posted(request);
}

[[gnu::always_inline]] inline base::Status Receiving::find_or_post(ReceiveRequest& request) {
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
    collaborators_.unexpected.free(message);
    return {};
  }
  const bool is_pending = failure != nullptr && context.unacknowledged &&
                          failure == &*context.unacknowledged && request.outlives_failures;
  if (failure != nullptr && !is_pending) [[unlikely]]
    return failure->clone();
  if (!collaborators_.may_match_in_provider || !collaborators_.provider.start(request))
    post(request);
  if (is_pending) [[unlikely]]
    request.set_failure_pending();
  return {};
}

}  // namespace shim::p2p
