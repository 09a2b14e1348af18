// SPDX-License-Identifier: BSD-3-Clause
// Passes packets to the parts.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

/// Handle a packet that is not a whole message, or damaged.
void Core::on_other_packet(transport::ConstSpan packet) {
  if (packet.empty()) return;
  switch (static_cast<wire::PacketType>(packet[0])) {
    case wire::PacketType::eager:
    case wire::PacketType::eager_numbered:
    case wire::PacketType::eager_short:
      ++counts.stale_dropped;  // shorter than its header states
      break;
    case wire::PacketType::eager_synchronous:
      if (auto header = wire::read<wire::NumberedEager>(packet))
        receiving.on_answered_message(wire::EagerWords::of(packet),
                                      info_of(*header, packet.subspan(sizeof *header)),
                                      header->message.context);
      break;
    case wire::PacketType::ready_to_send:
      if (auto header = wire::read<wire::ReadyToSend>(packet))
        receiving.on_answered_message(wire::EagerWords::of(packet), info_of(*header, {}),
                                      header->message.context);
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
      if (auto header = wire::read<wire::Finished>(packet)) sending.on_finished(*header);
      break;
    case wire::PacketType::cancel:
      if (auto header = wire::read<wire::Cancel>(packet)) cancelling.on_cancel(*header);
      break;
    case wire::PacketType::cancelled:
      if (auto header = wire::read<wire::Cancelled>(packet)) cancelling.on_cancelled_reply(*header);
      break;
    case wire::PacketType::throttle:
    case wire::PacketType::unthrottle:
      if (auto header = wire::read<wire::Flow>(packet))
        sending.on_flow(peers.at(base::ProcessId{header->world, header->rank}), header->kind);
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
      if (auto header = wire::read<wire::Control>(packet)) {
        Peer& sender = peers.at(base::ProcessId{header->world, header->rank});
        if (!inbox.add(sender, *header, packet.subspan(sizeof *header))) ++counts.stale_dropped;
      }
      break;
  }
}

void Core::on_matched(transport::MatchedReceive& receive, transport::ConstSpan packet) {
  provider.on_matched(receive, packet);
}

void Core::on_cancelled(transport::MatchedReceive& receive) { provider.on_cancelled(receive); }

std::optional<transport::Placement> Core::place(transport::ConstSpan beginning, std::size_t bytes) {
  return rendezvous.place(beginning, bytes);
}

void Core::on_placed(transport::ConstSpan header, std::size_t payload_bytes) {
  rendezvous.on_placed(header, payload_bytes);
}

bool Core::deliver_to_self(Peer& self) {
  const int pushed = output.push(self);
  const base::Result<int> handled = self.transport->poll(*this);
  return handled && (*handled != 0 || pushed != 0);
}

}  // namespace shim::p2p
