// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/peer.hpp"

#include <algorithm>

#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

/// True if the receiver matches the packet with a receive.
bool is_matched(transport::ConstSpan header) {
  return carries_message(header) ||
         static_cast<wire::PacketType>(header[0]) == wire::PacketType::ready_to_send;
}

/// Return the matcher that sends this message past the peer's queues; null if none does.
transport::Matcher* matcher_for(const Peer& to, const wire::Eager& message) {
  transport::Matcher* matcher = to.transport->matcher();
  return matcher != nullptr && matcher->takes(message.context, message.source) ? matcher : nullptr;
}

}  // namespace

bool QueuedOutput::is_notice() const {
  const auto kind = static_cast<wire::PacketType>(header[0]);
  return !is_control && (kind == wire::PacketType::collectives_failed ||
                         kind == wire::PacketType::call_after_refusal);
}

bool carries_message(transport::ConstSpan header) {
  auto kind = static_cast<wire::PacketType>(header[0]);
  return kind == wire::PacketType::eager || kind == wire::PacketType::eager_synchronous ||
         kind == wire::PacketType::eager_numbered;
}

base::Result<transport::Attempt> Peer::try_send(transport::ConstSpan header,
                                                transport::ConstSpan payload) {
  if (may_match_in_provider && is_matched(header)) [[unlikely]] {
    const auto message = *wire::read<wire::Eager>(header);  // all matched headers begin with one
    if (transport::Matcher* matcher = matcher_for(*this, message))
      return matcher->try_send(*link, {message.context, message.source, message.tag}, header,
                               payload);
  }
  return transport->try_send(*link, header, payload);
}

bool Peer::has_only_notices() const { return std::ranges::all_of(queue, &QueuedOutput::is_notice); }

}  // namespace shim::p2p
