// SPDX-License-Identifier: BSD-3-Clause
// WholeMessage is a packet with a whole message that needs no answer to its sender.
#pragma once

#include "shim/p2p/requests.hpp"
#include "shim/p2p/wire.hpp"

namespace shim::p2p {

struct WholeMessage {
  wire::EagerWords header;
  std::uint64_t number = 0;  ///< 0: none
  transport::ConstSpan payload;

  MessageInfo info() const {
    return {header.kind(), header.source(), header.tag(), header.bytes(), number, 0, payload, 0,
            header.from()};
  }
};

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

}  // namespace shim::p2p
