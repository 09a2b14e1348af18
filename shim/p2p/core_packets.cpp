// SPDX-License-Identifier: BSD-3-Clause
// Passes packets to the parts.
#include "shim/p2p/core.hpp"

namespace shim::p2p {
namespace {

/// Pass the header of a packet to a function; count a packet that is shorter than the header.
template <typename Header, typename Handle>
void read_header(transport::ConstSpan packet, std::uint64_t& dropped, Handle handle) {
  if (const auto header = wire::read<Header>(packet))
    handle(*header);
  else
    ++dropped;
}

}  // namespace

/// Handle a packet that is not a whole eager message: one that awaits a reply, or belongs to a
/// protocol; or a damaged one, which is dropped.
void Core::on_other_packet(transport::ConstSpan packet) {
  if (packet.empty()) return;
  switch (static_cast<wire::PacketType>(packet[0])) {
    case wire::PacketType::eager:
    case wire::PacketType::eager_numbered:
    case wire::PacketType::eager_short:
      ++counts.stale_dropped;  // shorter than its header states
      break;
    case wire::PacketType::eager_synchronous:
      read_header<wire::NumberedEager>(packet, counts.stale_dropped, [&](const auto& header) {
        receiving.on_answered_message(wire::EagerWords::of(packet),
                                      info_of(header, packet.subspan(sizeof(wire::NumberedEager))),
                                      header.message.context);
      });
      break;
    case wire::PacketType::ready_to_send:
      read_header<wire::ReadyToSend>(packet, counts.stale_dropped, [&](const auto& header) {
        receiving.on_answered_message(wire::EagerWords::of(packet), info_of(header, {}),
                                      header.message.context);
      });
      break;
    case wire::PacketType::clear_to_send:
      read_header<wire::ClearToSend>(packet, counts.stale_dropped, [&](const auto& header) {
        rendezvous.on_clear_to_send(header);
      });
      break;
    case wire::PacketType::share:
      read_header<wire::Share>(packet, counts.stale_dropped,
                               [&](const auto& header) { shared_copies.on_share(header); });
      break;
    case wire::PacketType::data:
      read_header<wire::Data>(packet, counts.stale_dropped, [&](const auto& header) {
        rendezvous.on_data(header, packet.subspan(sizeof(wire::Data)));
      });
      break;
    case wire::PacketType::finished:
      read_header<wire::Finished>(packet, counts.stale_dropped,
                                  [&](const auto& header) { sending.on_finished(header); });
      break;
    case wire::PacketType::cancel:
      read_header<wire::Cancel>(packet, counts.stale_dropped,
                                [&](const auto& header) { cancelling.on_cancel(header); });
      break;
    case wire::PacketType::cancelled:
      read_header<wire::Cancelled>(packet, counts.stale_dropped, [&](const auto& header) {
        cancelling.on_cancelled_reply(header);
      });
      break;
    case wire::PacketType::throttle:
    case wire::PacketType::unthrottle:
      read_header<wire::Flow>(packet, counts.stale_dropped, [&](const auto& header) {
        sending.on_flow(peers.at(base::ProcessId{header.world, header.rank}), header.kind);
      });
      break;
    case wire::PacketType::collectives_failed:
      read_header<wire::CollectivesFailed>(packet, counts.stale_dropped, [&](const auto& notice) {
        collective_failures.on_collectives_failed(notice);
      });
      break;
    case wire::PacketType::call_after_refusal:
      read_header<wire::CallAfterRefusal>(packet, counts.stale_dropped, [&](const auto& notice) {
        collective_failures.on_call_after_refusal(notice);
      });
      break;
    case wire::PacketType::refused:
      read_header<wire::Refused>(packet, counts.stale_dropped, [&](const auto& header) {
        collective_failures.on_refused(header);
      });
      break;
    case wire::PacketType::control:
      read_header<wire::Control>(packet, counts.stale_dropped, [&](const auto& header) {
        Peer& sender = peers.at(base::ProcessId{header.world, header.rank});
        if (!inbox.add(sender, header, packet.subspan(sizeof(wire::Control))))
          ++counts.stale_dropped;
      });
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
