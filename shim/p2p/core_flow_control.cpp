// SPDX-License-Identifier: BSD-3-Clause
// Implements flow control at the sender (unexpected_messages.hpp).
#include <cstring>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::on_flow(const wire::Flow& header) {
  Peer& to = peer(base::ProcessId{header.world, header.rank});
  to.throttles_us = header.kind == wire::PacketType::throttle;
  if (to.link == nullptr) return;
  set_eager_end(to);
  if (to.throttles_us) announce_queued(to);
}

/// Turn queued messages into announcements. A message whose cancellation has been requested keeps
/// the kind and number by which that request identifies it.
void Core::announce_queued(Peer& to) {
  for (QueuedOutput& queued : to.queue) {
    SendRequest* request = queued.request;
    if (request == nullptr || request->cancel_requested ||
        request->header.kind == wire::PacketType::ready_to_send)
      continue;
    const wire::ReadyToSend header = rendezvous.announce(*request);
    std::memcpy(queued.header.data(), &header, sizeof header);
    queued.header_bytes = sizeof header;
  }
}

}  // namespace shim::p2p
