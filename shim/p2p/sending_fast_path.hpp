// SPDX-License-Identifier: BSD-3-Clause
// Defines what a send on the fast path inlines. By force: a call costs a short message as much as
// these functions.
#pragma once

#include <array>

#include "shim/p2p/sending.hpp"

namespace shim::p2p {

[[gnu::always_inline]] inline wire::Eager Sending::header_for(wire::PacketType kind,
                                                              const Context& context, int rank,
                                                              int tag, Plane plane,
                                                              std::uint64_t bytes) const {
  return wire::Eager::of(kind, origin_, context.spec.own_rank, context.id_at(rank, plane), tag,
                         static_cast<std::uint32_t>(bytes));
}

/// Return the peer if a message of this length can be sent to it as one packet now; else null. Null
/// also if a provider may match it: send_over_provider().
[[gnu::always_inline]] inline Peer* Sending::peer_for_fast_path(Context& context, int rank,
                                                                std::uint64_t bytes) const {
  Peer* to = context.known_peer(rank);
  return to != nullptr && to->is_clear() && bytes < to->fast_end ? to : nullptr;
}

[[gnu::always_inline]] inline void Sending::count_eager_send(std::uint64_t bytes) {
  ++collaborators_.counts.eager_sent;
  if (collaborators_.transports.is_poll_due(bytes)) [[unlikely]]
    poll_after_sends();
}

template <typename Header>
[[gnu::always_inline]] inline bool Sending::try_eager(Peer& to, const Header& header,
                                                      transport::ConstSpan data) {
  auto sent = to.transport->try_send(*to.link, wire::bytes_of(header), data);
  if (!sent || *sent != transport::Attempt::done) return false;
  count_eager_send(data.size());
  return true;
}

/// Pack items with holes directly into the packet, if the transport has it in local memory.
template <typename Header>
bool Sending::try_eager_packed(Peer& to, const Header& header, const types::ConstBuffer& data) {
  PackedStream packed(data);
  const auto bytes = static_cast<std::size_t>(data.bytes());
  transport::SendInPlace* const in_place = to.interfaces->send_in_place;
  if (in_place == nullptr) return try_eager(to, header, packed.part(0, bytes));
  std::span<std::byte> space;
  auto reserved = in_place->try_reserve(*to.link, wire::bytes_of(header), bytes, space);
  if (reserved && *reserved == transport::Attempt::unsupported)
    return try_eager(to, header, packed.part(0, bytes));
  if (!reserved || *reserved != transport::Attempt::done) return false;
  packed.copy_part(0, space);
  in_place->publish(*to.link);
  count_eager_send(bytes);
  return true;
}

template <typename Header>
[[gnu::always_inline]] inline bool Sending::try_eager(Peer& to, const Header& header,
                                                      const types::ConstBuffer& data) {
  if (!data.type->contiguous) [[unlikely]]
    return try_eager_packed(to, header, data);
  return try_eager(to, header,
                   transport::ConstSpan(static_cast<const std::byte*>(data.address),
                                        static_cast<std::size_t>(data.bytes())));
}

[[gnu::always_inline]] inline bool Sending::send_at_once(Context& context,
                                                         const types::ConstBuffer& data, int rank,
                                                         int tag, Plane plane) {
  Peer* to = peer_for_fast_path(context, rank, data.bytes());
  if (to == nullptr) [[unlikely]]
    return collaborators_.limits.may_match_in_provider() &&
           send_over_provider(context, data, rank, tag, plane, 0);
  const base::ContextId id = context.id_at(rank, plane);
  if (wire::ShortEager::suits(context.spec.own_rank, id, 0, data.bytes()))
    return try_eager(*to, wire::ShortEager::of(origin_, context.spec.own_rank, id, tag, 0), data);
  const std::array<std::uint64_t, 3> header = wire::Eager::words_of(
      wire::PacketType::eager, origin_, context.spec.own_rank, id, tag,
      static_cast<std::uint32_t>(data.bytes()));
  return try_eager(*to, header, data);
}

[[gnu::always_inline]] inline bool Sending::send_at_once(Context& context,
                                                         const types::ConstBuffer& data, int rank,
                                                         int tag, InlineSent& inline_sent) {
  Peer* to = peer_for_fast_path(context, rank, data.bytes());
  const std::uint64_t number = messages_numbered_ + 1;
  if (to == nullptr) [[unlikely]] {
    if (!collaborators_.limits.may_match_in_provider() ||
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

}  // namespace shim::p2p
