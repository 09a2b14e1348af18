// SPDX-License-Identifier: BSD-3-Clause
// Sends control messages.
#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Core::queue_control(Peer& to, std::vector<std::byte> bytes) {
  ++counts.control_sent;
  counts.control_bytes += bytes.size();
  QueuedOutput& queued = to.queue.emplace_back();
  queued.is_control = true;
  queued.control = std::move(bytes);
  push(to);
}

base::Result<transport::Attempt> Core::send_control_part(Peer& to) {
  QueuedOutput& front = to.queue.front();
  wire::Control header;
  header.world = spec.self.world;
  header.rank = spec.self.rank;
  header.total = front.control.size();
  header.offset = front.control_sent;
  transport::ConstSpan rest = transport::ConstSpan(front.control).subspan(front.control_sent);
  transport::ConstSpan part = rest.first(
      std::min(rest.size(), to.transport->max_packet_bytes() - sizeof(header)));
  SHIM_TRY_ASSIGN(transport::Attempt attempt,
                  to.transport->try_send_ahead(*to.link, wire::bytes_of(header), part));
  if (attempt != transport::Attempt::done) return attempt;
  front.control_sent += part.size();
  if (front.control_sent == front.control.size()) to.queue.pop_front();
  return attempt;
}

void Core::on_control(const wire::Control& header, transport::ConstSpan payload) {
  if (!inbox_.add(peer({header.world, header.rank}), header, payload)) ++counts.stale_dropped;
}

}  // namespace shim::p2p
