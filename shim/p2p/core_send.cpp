// SPDX-License-Identifier: BSD-3-Clause
// Implements sends: fast path, slow path, eager packets.
#include <array>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

// Inlined by force, here and below: a call costs a short message as much as these functions.
[[gnu::always_inline]] inline wire::Eager Core::header_for(wire::PacketType kind,
                                                           const Context& context, int rank,
                                                           int tag, Plane plane,
                                                           std::uint64_t bytes) const {
  return wire::Eager::of(kind, origin_, context.spec.own_rank, context.id_at(rank, plane), tag,
                         static_cast<std::uint32_t>(bytes));
}

/// Return the peer if a message of this length can be sent to it as one packet now; else null. Null
/// also if a provider may match it: send_over_provider().
[[gnu::always_inline]] inline Peer* Core::clear_peer(Context& context, int rank,
                                                     std::uint64_t bytes) const {
  Peer* to = context.known_peer(rank);
  return to != nullptr && to->is_clear() && bytes < to->fast_end ? to : nullptr;
}

[[gnu::always_inline]] inline void Core::count_eager_send(std::uint64_t bytes) {
  ++counts.eager_sent;
  if (is_poll_due(bytes)) [[unlikely]]
    poll_after_sends();
}

template <typename Header>
[[gnu::always_inline]] inline bool Core::try_eager(Peer& to, const Header& header,
                                                   transport::ConstSpan data) {
  auto sent = to.transport->try_send(*to.link, wire::bytes_of(header), data);
  if (!sent || *sent != transport::Attempt::done) return false;
  count_eager_send(data.size());
  return true;
}

/// Poll on behalf of a sender that never waits. Errors are left to the next round, which returns
/// them again.
void Core::poll_after_sends() {
  base::Status said_later;
  poll_all(true, said_later);
}

/// Pack items with holes directly into the packet, if the transport has it in local memory.
template <typename Header>
bool Core::try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data) {
  PackedStream packed(data);
  const auto bytes = static_cast<std::size_t>(data.bytes());
  std::span<std::byte> space;
  auto reserved = to.transport->try_reserve(*to.link, wire::bytes_of(header), bytes, space);
  if (reserved && *reserved == transport::Attempt::unsupported)
    return try_eager(to, header, packed.part(0, bytes));
  if (!reserved || *reserved != transport::Attempt::done) return false;
  packed.copy_part(0, space);
  to.transport->publish(*to.link);
  count_eager_send(bytes);
  return true;
}

template <typename Header>
[[gnu::always_inline]] inline bool Core::try_eager(Peer& to, const Header& header,
                                                   const types::ConstBuffer& data) {
  if (!data.type->contiguous) [[unlikely]]
    return try_eager_packed(to, header, data);
  return try_eager(to, header,
                   transport::ConstSpan(static_cast<const std::byte*>(data.address),
                                        static_cast<std::size_t>(data.bytes())));
}

/// Send a message as one packet to a process whose messages a provider may match. False if it
/// cannot leave now, or takes another path. @param number 0: the message cannot be cancelled
bool Core::send_over_provider(Context& context, const types::ConstBuffer& data, int rank, int tag,
                              Plane plane, std::uint64_t number) {
  Peer* to = context.known_peer(rank);
  if (to == nullptr || !to->may_match_in_provider || !to->is_clear() ||
      data.bytes() >= to->eager_end)
    return false;
  SendBuffer buffer(data);
  const auto send = [&](const auto& header) {
    auto sent = send_packet(*to, wire::bytes_of(header), buffer.all());
    return sent && *sent == transport::Attempt::done;
  };
  const bool is_sent = number == 0 ? send(header_for(wire::PacketType::eager, context, rank, tag,
                                                     plane, data.bytes()))
                                   : send(wire::NumberedEager{
                                         header_for(wire::PacketType::eager_numbered, context, rank,
                                                    tag, plane, data.bytes()),
                                         number});
  if (is_sent) count_eager_send(data.bytes());
  return is_sent;
}

/// The fast path: true if the message has left as one packet. If false, the caller must use the
/// slow path, which handles all other cases.
bool Core::send_at_once(Context& context, const types::ConstBuffer& data, int rank, int tag,
                        Plane plane) {
  Peer* to = clear_peer(context, rank, data.bytes());
  if (to == nullptr) [[unlikely]]
    return provider.is_enabled() && send_over_provider(context, data, rank, tag, plane, 0);
  const base::ContextId id = context.id_at(rank, plane);
  if (wire::ShortEager::suits(context.spec.own_rank, id, 0, data.bytes()))
    return try_eager(*to, wire::ShortEager::of(origin_, context.spec.own_rank, id, tag, 0), data);
  const std::array<std::uint64_t, 3> header = wire::Eager::words_of(
      wire::PacketType::eager, origin_, context.spec.own_rank, id, tag,
      static_cast<std::uint32_t>(data.bytes()));
  return try_eager(*to, header, data);
}

[[gnu::always_inline]] inline bool Core::send_at_once(Context& context,
                                                      const types::ConstBuffer& data, int rank,
                                                      int tag, InlineSent& inline_sent) {
  Peer* to = clear_peer(context, rank, data.bytes());
  const std::uint64_t number = messages_numbered_ + 1;
  if (to == nullptr) [[unlikely]] {
    if (!provider.is_enabled() ||
        !send_over_provider(context, data, rank, tag, Plane::user, number))
      return false;
    messages_numbered_ = number;
    inline_sent = {number, rank};
    return true;
  }
  const base::ContextId id = context.id_at(rank, Plane::user);
  if (wire::ShortEager::suits(context.spec.own_rank, id, number, data.bytes())) {
    if (!try_eager(*to, wire::ShortEager::of(origin_, context.spec.own_rank, id, tag, number),
                   data))
      return false;
  } else {
    const std::array<std::uint64_t, 4> header = wire::NumberedEager::words_of(
        wire::PacketType::eager_numbered, origin_, context.spec.own_rank, id, tag,
        static_cast<std::uint32_t>(data.bytes()), number);
    if (!try_eager(*to, header, data)) return false;
  }
  messages_numbered_ = number;
  inline_sent = {number, rank};
  return true;
}

/// Defined here instead of p2p_engine.cpp, so that all of it is one function.
bool PointToPoint::send_at_once(Context& context, const types::ConstBuffer& data, int dest, int tag,
                                InlineSent& inline_sent) {
  if (dest == kProcNull) [[unlikely]]
    return true;
  EngineLock::Scope lock(core_->lock());
  return core_->send_at_once(context, data, dest, tag, inline_sent);
}

/// Send the message of a request like the overload above.
bool Core::send_over_provider(SendRequest& request) {
  const MessageAddress& address = request.address;
  Peer* to = address.context->known_peer(address.rank);
  if (to == nullptr || !to->may_match_in_provider || !to->is_clear() ||
      request.data.bytes() >= to->eager_end)
    return false;
  number(request, *to);
  const auto sent = send_packet(
      *to, wire::bytes_of(wire::NumberedEager{request.header, request.number}), request.data.all());
  if (!sent || *sent != transport::Attempt::done) return false;
  count_eager_send(request.data.bytes());
  return true;
}

bool Core::send_at_once(SendRequest& request) {
  const MessageAddress& address = request.address;
  Peer* to = clear_peer(*address.context, address.rank, request.data.bytes());
  if (to == nullptr) [[unlikely]]
    return provider.is_enabled() && send_over_provider(request);
  number(request, *to);
  return try_eager(*to, wire::NumberedEager{request.header, request.number}, request.data.all());
}

Request* Core::request_of(Context& context, const InlineSent& inline_sent) {
  SendRequest* request = sends.make(
      this, MessageAddress{&context, inline_sent.dest, 0, Plane::user},
      types::ConstBuffer{nullptr, 0, &types::byte_type()}, SendMode::standard);
  request->receiver = context.known_peer(inline_sent.dest);
  request->number = inline_sent.number;
  request->header = header_for(wire::PacketType::eager_numbered, context, inline_sent.dest, 0,
                               Plane::user, 0);  // only the fields that identify the message
  request->complete({});
  return request;
}

/// Fill in the header of a message that needs no answer, but may be cancelled.
void Core::number(SendRequest& request, Peer& to) {
  const auto& [context, rank, tag, plane] = request.address;
  request.receiver = &to;
  request.number = ++messages_numbered_;
  request.header = header_for(wire::PacketType::eager_numbered, *context, rank, tag, plane,
                              request.data.bytes());
}

base::Status Core::send_slowly(const MessageAddress& to, const types::ConstBuffer& data,
                               SendMode mode) {
  SendRequest request(this, to, data, mode);
  request.caller = Caller::waits;
  {
    Guard guard = enter();
    SHIM_TRY(start(request, guard));
  }
  return finish(request);
}

base::Status Core::start(SendRequest& request, Guard& guard) {
  const MessageAddress& address = request.address;
  if (address.context->has_failures) [[unlikely]] {
    if (const base::Error* failure = failure_of(address)) return failure->clone();
  }
  SHIM_TRY_ASSIGN(Peer * to, usable_peer(*address.context, address.rank, guard));
  request.peer = to;
  request.cancel_requested = request.was_sent = request.is_revoked = request.is_refused = false;
  to->unfinished.push_back(request);
  request.awaits_reply = false;
  number(request, *to);
  const bool is_eager = request.data.bytes() < to->eager_end;
  if (is_eager) {
    ++counts.eager_sent;
    if (request.mode == SendMode::synchronous) {
      expect_reply(request, send_ids_);
      request.header.kind = wire::PacketType::eager_synchronous;
    }
    transmit(*to, wire::NumberedEager{request.header, request.number}, &request);
  } else {
    transmit(*to, rendezvous.announce(request), &request);
  }
  if (is_poll_due(is_eager ? request.data.bytes() : 0)) poll_after_sends();
  return {};
}

base::Result<Request*> Core::begin(SendRequest& request, Guard& guard, bool keep_copy) {
  const bool is_proc_null = request.address.rank == kProcNull;
  if (is_proc_null || (request.mode != SendMode::synchronous && send_at_once(request))) {
    request.complete({});
    return &request;
  }
  if (keep_copy) request.keep_copy();
  return started(start(request, guard), request);
}

void Core::on_sent(SendRequest& request) {
  if (!request.awaits_reply) end(request, std::nullopt);
}

void Core::on_finished(const wire::Finished& header) {
  SendRequest* request = send_ids_.find(header.send);
  if (request == nullptr) return;
  if (request->is_revoked) [[unlikely]]
    end(*request, revoked_error());
  else
    end(*request, std::nullopt);
}

void Core::unlink(SendRequest& request) {
  if (request.id != 0) send_ids_.remove(std::exchange(request.id, 0));
  rendezvous.forget(request);
  if (request.peer == nullptr) return;
  Peer& to = *std::exchange(request.peer, nullptr);
  to.unfinished.erase(to.unfinished.iterator_to(request));
  if (std::exchange(request.streaming, false)) to.streams.erase(to.streams.iterator_to(request));
}

void Core::end(SendRequest& request, std::optional<base::Error> error, bool cancelled) {
  unlink(request);
  if (request.is_released()) --unfinished_released;
  request.complete({.cancelled = cancelled}, std::move(error));
}

void Core::abandon(SendRequest& request) {
  if (request.peer != nullptr)
    std::erase_if(request.peer->queue, [&](auto& queued) { return queued.request == &request; });
  unlink(request);
}

}  // namespace shim::p2p
