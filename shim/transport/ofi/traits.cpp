// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/traits.hpp"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>
#include <bit>

namespace shim::transport {
namespace {

/// What a provider, or the layer above it, offers and is better not used, as libfabric 1.17 was seen to do (docs/measurements.md, docs/matching.md).
struct Reserve {
  std::string_view name;
  bool injects = true;  ///< still used
  bool reads = true;    ///< still used
  std::size_t sends = kSendDepth;  ///< at once
  bool completes_in_any_order = true;  ///< else a frame is no longer than what it takes at once
  bool matches = true;
  bool knows_senders = true;
  bool knows_callers = true;
};
constexpr std::array kReserves{
    // Nobody hears of an injected message that was lost, the connection is made anew for ever, and nothing is gained.
    Reserve{.name = "ofi_rxm", .injects = false},
    Reserve{.name = "net", .injects = false},
    Reserve{.name = "tcp", .injects = false},  // what net is called from libfabric 1.18 on
    // Injected messages use up its operations; fi_send then says 0 and sends nothing. With many sends under way messages are lost, and
    // others come with the bytes of later ones. With receives that are given back in between, messages that it is to match got lost.
    Reserve{.name = "ofi_rxd", .injects = false, .reads = false, .sends = 8, .matches = false},
    // A tagged message of more than 4 KiB that no receive waits for is never received, and holds up those behind it. Longer messages than
    // it injects are done when their receivers have read them, in the order in which they were sent: not at all behind one to a process
    // that has died.
    Reserve{.name = "shm", .reads = false, .completes_in_any_order = false, .matches = false, .knows_senders = false},
    // Messages of a sender that has connected before its address was entered are nobody's for ever. Answers go over a second connection
    // otherwise, and each message costs the system an acknowledgement of its own (a third of the time).
    Reserve{.name = "sockets", .knows_senders = false, .knows_callers = false},
};

Reserve reserve_of(std::string_view provider) {
  const std::string_view layer = provider.substr(provider.rfind(';') + 1);  // all of it where there is none
  const auto* found = std::ranges::find(kReserves, layer, &Reserve::name);
  return found == kReserves.end() ? Reserve{.name = provider} : *found;
}

/// Reads of this size leave room for others in between, and several under way fill the wire.
constexpr std::size_t kReadBytes = 256 * 1024;

/// 0 says of some attributes that there is no limit.
std::size_t least(std::size_t wanted, std::size_t limit) { return limit == 0 ? wanted : std::min(wanted, limit); }

}  // namespace

bool should_read(std::string_view provider, const OfiTuning& tuning) {
  return tuning.reads.value_or(reserve_of(provider).reads);
}

bool should_match(std::string_view provider) { return reserve_of(provider).matches; }

bool should_name_senders(std::string_view provider, const OfiTuning& tuning) {
  return tuning.names_senders.value_or(reserve_of(provider).knows_senders);
}

namespace {

/// Of an endpoint that was asked to match: it has to keep the order, and take whole packets.
std::optional<MatchBits> match_bits_of(const fi_info& info, const Traits& traits, const OfiTuning& tuning) {
  const std::uint64_t by_sender = FI_DIRECTED_RECV | FI_SOURCE;
  if ((info.caps & FI_TAGGED) == 0 || !traits.keeps_order || traits.frame_bytes != kFrameBytes) return std::nullopt;
  const std::uint64_t format = info.ep_attr->mem_tag_format;
  const bool names_sender = (info.caps & by_sender) == by_sender && should_name_senders(info.fabric_attr->prov_name, tuning);
  return MatchBits::of(format == 0 ? 64 : std::bit_width(format), names_sender);
}

}  // namespace

Traits traits_of(const fi_info& info, const OfiTuning& tuning) {
  const auto mr_mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
  const std::uint64_t reads = FI_RMA | FI_READ | FI_REMOTE_READ;
  const Reserve reserve = reserve_of(info.fabric_attr->prov_name);
  Traits traits;
  traits.frame_bytes = least(least(kFrameBytes, info.ep_attr->max_msg_size), tuning.longest_frame);
  if (!reserve.completes_in_any_order) traits.frame_bytes = least(traits.frame_bytes, info.tx_attr->inject_size);
  if (reserve.injects && tuning.prefix_bytes == 0)
    traits.inject_bytes = std::min(info.tx_attr->inject_size, traits.frame_bytes);
  traits.prefix_bytes = (info.mode & FI_MSG_PREFIX) != 0 ? info.ep_attr->msg_prefix_size : tuning.prefix_bytes;
  traits.knows_callers = reserve.knows_callers;
  const std::size_t two_packets = 2 * (kFrameBytes / traits.frame_bytes + 2);  // in parts, so that there is room for one
  traits.sends = std::max(least(reserve.sends, info.tx_attr->size), two_packets);
  traits.receives = least(kReceiveDepth, info.rx_attr->size);
  traits.keeps_order = !tuning.orders_itself && (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0;
  traits.registers_buffers = tuning.registers_buffers || (mr_mode & FI_MR_LOCAL) != 0;
  traits.binds_memory = (mr_mode & FI_MR_ENDPOINT) != 0;
  traits.picks_keys = (mr_mode & FI_MR_PROV_KEY) != 0;
  traits.reads_by_address = (mr_mode & FI_MR_VIRT_ADDR) != 0;
  if (should_read(info.fabric_attr->prov_name, tuning) && (info.caps & reads) == reads)
    traits.read_bytes = least(kReadBytes, info.ep_attr->max_msg_size);
  traits.match_bits = match_bits_of(info, traits, tuning);
  if (traits.match_bits) traits.receives = (least(kMatchedDepth, info.rx_attr->size) - 1) / 2;
  return traits;
}

}  // namespace shim::transport
