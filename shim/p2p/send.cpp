// SPDX-License-Identifier: BSD-3-Clause
// Sending messages.
#include <array>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

// Inlined by force, here and below: a call costs a short message as much as what these do.
[[gnu::always_inline]] inline wire::Eager Core::header_for(wire::Kind kind, const Context& context, int rank, int tag, Plane plane,
                                                          std::uint64_t bytes) const {
  return wire::Eager::of(kind, origin_, context.spec.own_rank, context.id_at(rank, plane), tag, static_cast<std::uint32_t>(bytes));
}

/// Not where headers are read below: a matcher knows of no such ones.
[[gnu::always_inline]] inline bool Core::is_sent_short(const Context& context, base::ContextId id, std::uint64_t number, std::uint64_t bytes) const {
  return wire::ShortEager::suits(context.spec.own_rank, id, number, bytes) && !matches_below_;
}

/// Whom a message of so many bytes can be given to as one packet, now; null where something is in the way.
[[gnu::always_inline]] inline Peer* Core::clear_peer(Context& context, int rank, std::uint64_t bytes) const {
  Peer* to = context.known_peer(rank);
  return to != nullptr && to->is_clear() && bytes < to->eager_end ? to : nullptr;
}

[[gnu::always_inline]] inline void Core::note_eager_sent(std::uint64_t bytes) {
  ++counts.eager_sent;
  if (is_time_to_look(bytes)) [[unlikely]] look_at_what_has_come();
}

template <typename Header>
[[gnu::always_inline]] inline bool Core::try_eager(Peer& to, const Header& header, transport::ConstSpan data) {
  auto sent = matches_below_ ? give(to, wire::bytes_of(header), data) : to.transport->try_send(*to.link, wire::bytes_of(header), data);
  if (!sent || *sent != transport::Attempt::done) return false;
  note_eager_sent(data.size());
  return true;
}

/// For one who sends without ever waiting. What goes wrong here goes wrong again in the next round, which says so.
void Core::look_at_what_has_come() {
  base::Status said_later;
  poll_all(true, said_later);
}

/// Of items with holes: packed straight into the packet, where that is in memory here.
template <typename Header>
bool Core::try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data) {
  Packed packed(data);
  const auto bytes = static_cast<std::size_t>(data.bytes());
  std::span<std::byte> place;
  if (matches_below_) return try_eager(to, header, packed.part(0, bytes));
  auto reserved = to.transport->try_reserve(*to.link, wire::bytes_of(header), bytes, place);
  if (reserved && *reserved == transport::Attempt::unsupported) return try_eager(to, header, packed.part(0, bytes));
  if (!reserved || *reserved != transport::Attempt::done) return false;
  packed.copy_part(0, place);
  to.transport->publish(*to.link);
  note_eager_sent(bytes);
  return true;
}

template <typename Header>
[[gnu::always_inline]] inline bool Core::try_eager(Peer& to, const Header& header, const types::ConstBuffer& data) {
  if (!data.type->contiguous) [[unlikely]] return try_eager_packed(to, header, data);
  return try_eager(to, header, transport::ConstSpan(static_cast<const std::byte*>(data.address), static_cast<std::size_t>(data.bytes())));
}

/// The short way: true when the message has left as one packet. False: take the long way, which meets whatever was in the way
/// here and deals with it.
bool Core::send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag, Plane plane) {
  Peer* to = clear_peer(context, rank, data.bytes());
  if (to == nullptr) return false;
  const base::ContextId id = context.id_at(rank, plane);
  if (is_sent_short(context, id, 0, data.bytes())) return try_eager(*to, wire::ShortEager::of(origin_, context.spec.own_rank, id, tag, 0), data);
  const std::array<std::uint64_t, 3> header =
      wire::Eager::words_of(wire::Kind::eager, origin_, context.spec.own_rank, id, tag, static_cast<std::uint32_t>(data.bytes()));
  return try_eager(*to, header, data);
}

[[gnu::always_inline]] inline bool Core::send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag, Departed& departed) {
  Peer* to = clear_peer(context, rank, data.bytes());
  if (to == nullptr) return false;
  const base::ContextId id = context.id_at(rank, Plane::user);
  const std::uint64_t number = messages_numbered_ + 1;
  if (is_sent_short(context, id, number, data.bytes())) {
    if (!try_eager(*to, wire::ShortEager::of(origin_, context.spec.own_rank, id, tag, number), data)) return false;
  } else {
    const std::array<std::uint64_t, 4> header = wire::NumberedEager::words_of(wire::Kind::eager_numbered, origin_, context.spec.own_rank, id, tag,
                                                                             static_cast<std::uint32_t>(data.bytes()), number);
    if (!try_eager(*to, header, data)) return false;
  }
  messages_numbered_ = number;
  departed = {number, rank};
  return true;
}

/// Here and not with the other public functions, so that all of it is one call.
bool Engine::send_at_once(Context& context, const types::ConstBuffer& data, int dest, int tag, Departed& departed) {
  if (dest == kProcNull) [[unlikely]] return true;
  Core::Inside inside(*core_);
  return core_->send_at_once(context, data, dest, tag, departed);
}

bool Core::send_at_once(SendRequest& request) {
  const Address& address = request.address;
  Peer* to = clear_peer(*address.context, address.rank, request.data.bytes());
  if (to == nullptr) return false;
  number(request, *to);
  return try_eager(*to, wire::NumberedEager{request.header, request.number}, request.data.all());
}

Request* Core::request_of(Context& context, const Departed& departed) {
  SendRequest* request = sends.make(*this, Address{&context, departed.dest, 0, Plane::user}, types::ConstBuffer{nullptr, 0, &types::byte_type()}, Mode::standard);
  request->receiver = context.known_peer(departed.dest);
  request->number = departed.number;
  request->header = header_for(wire::Kind::eager_numbered, context, departed.dest, 0, Plane::user, 0);  // as much of it as names the message
  request->complete({});
  return request;
}

/// Fills in the header of a message that nobody has to answer, but that may be asked for back.
void Core::number(SendRequest& request, Peer& to) {
  const auto& [context, rank, tag, plane] = request.address;
  request.receiver = &to;
  request.number = ++messages_numbered_;
  request.header = header_for(wire::Kind::eager_numbered, *context, rank, tag, plane, request.data.bytes());
}

base::Status Core::start(SendRequest& request, Guard& guard) {
  const Address& address = request.address;
  if (address.context->has_failures) [[unlikely]] {
    if (const base::Error* failure = failure_of(address)) return failure->clone();
  }
  SHIM_TRY_ASSIGN(Peer * to, usable_peer(*address.context, address.rank, guard));
  request.peer = to;
  request.given_up = request.had_left = false;
  to->unfinished.push_back(request);
  request.waits_for_answer = false;
  number(request, *to);
  const bool is_eager = request.data.bytes() < to->eager_end;
  if (is_eager) {
    ++counts.eager_sent;
    if (request.mode == Mode::synchronous) {
      expect_answer(request);
      request.header.kind = wire::Kind::eager_synchronous;
    }
    transmit(*to, wire::NumberedEager{request.header, request.number}, &request);
  } else {
    transmit(*to, announcement(request), &request);
  }
  if (is_time_to_look(is_eager ? request.data.bytes() : 0)) look_at_what_has_come();
  return {};
}

void Core::expect_answer(SendRequest& request) {
  request.waits_for_answer = true;
  if (request.id == 0) request.id = send_ids_.add(request);
  request.number = request.id;
}

base::Result<Request*> Core::begin(SendRequest& request, Guard& guard, bool keep_copy) {
  const bool goes_nowhere = request.address.rank == kProcNull;
  if (goes_nowhere || (request.mode != Mode::synchronous && send_at_once(request))) {
    request.complete({});
    return &request;
  }
  if (keep_copy) request.keep_copy();
  return started(start(request, guard), request);
}

void Core::on_sent(SendRequest& request) {
  if (!request.waits_for_answer) end(request, std::nullopt);
}

void Core::on_finished(const wire::Finished& header) {
  if (SendRequest* request = send_ids_.find(header.send)) end(*request, std::nullopt);
}

void Core::unlink(SendRequest& request) {
  if (request.id != 0) send_ids_.remove(std::exchange(request.id, 0));
  if (std::exchange(request.is_long, false)) --long_sends_;
  request.offer.reset();
  if (request.peer == nullptr) return;
  Peer& to = *std::exchange(request.peer, nullptr);
  to.unfinished.erase(to.unfinished.iterator_to(request));
  if (std::exchange(request.streaming, false)) to.streams.erase(to.streams.iterator_to(request));
}

void Core::end(SendRequest& request, std::optional<base::Error> error, bool cancelled) {
  unlink(request);
  if ((request.life_.load(std::memory_order_relaxed) & Request::kReleased) != 0) --unfinished_released;
  request.complete({.cancelled = cancelled}, std::move(error));
}

void Core::abandon(SendRequest& request) {
  if (request.peer != nullptr) std::erase_if(request.peer->queue, [&](auto& queued) { return queued.request == &request; });
  unlink(request);
}

}  // namespace shim::p2p
