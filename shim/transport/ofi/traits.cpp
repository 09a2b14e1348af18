// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/traits.hpp"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>
#include <bit>

namespace shim::transport {
namespace {

/// Features of a provider, or of a layer above it, that should not be used, as observed with
/// libfabric 1.17 (docs/decisions/0025-libfabric-provider-workarounds.md,
/// docs/developer/matching.md).
struct Restriction {
  std::string_view name;
  bool injects = true;                 ///< usable
  bool reads = true;                   ///< usable
  std::size_t sends = kSendDepth;      ///< in flight
  bool completes_in_any_order = true;  ///< false: frames are no longer than inject_size
  bool matches = true;
  bool knows_senders = true;
  bool knows_callers = true;
};
constexpr std::array kRestrictions{
    // Losses of injected messages are not reported, the provider reconnects for ever, and injection
    // is no faster.
    Restriction{.name = "ofi_rxm", .injects = false},
    Restriction{.name = "net", .injects = false},
    Restriction{.name = "tcp", .injects = false},  // net's name from libfabric 1.18 on
    // Injected messages use up its operations; fi_send then returns 0 and sends nothing. With many
    // sends in flight messages are lost, and others arrive with the bytes of later ones. With
    // cancelled receives in between, matched messages were lost.
    Restriction{.name = "ofi_rxd", .injects = false, .reads = false, .sends = 8, .matches = false},
    // A tagged message longer than 4 KiB without a posted receive is never received, and blocks
    // later ones. Messages beyond the inject size complete in the order sent, each when its
    // receiver has read it: never, if an earlier one is to a dead process.
    Restriction{.name = "shm",
                .reads = false,
                .completes_in_any_order = false,
                .matches = false,
                .knows_senders = false},
    // Messages of a sender that connected before its address was inserted are never attributed to
    // it. Replies otherwise use a second connection, where each message costs the system a separate
    // acknowledgement (a third of the time).
    Restriction{.name = "sockets", .knows_senders = false, .knows_callers = false},
};

Restriction restriction_of(std::string_view provider) {
  const std::string_view layer = provider.substr(provider.rfind(';') +
                                                 1);  // the whole name if there is none
  const auto* found = std::ranges::find(kRestrictions, layer, &Restriction::name);
  return found == kRestrictions.end() ? Restriction{.name = provider} : *found;
}

/// Short enough that other traffic gets its turn, and long enough that several reads in flight use
/// the whole bandwidth.
constexpr std::size_t kReadBytes = 256 * 1024;

/// Return the minimum; for some attributes a limit of 0 means none.
std::size_t least(std::size_t wanted, std::size_t limit) {
  return limit == 0 ? wanted : std::min(wanted, limit);
}

}  // namespace

bool should_read(std::string_view provider, const OfiTuning& tuning) {
  return tuning.reads.value_or(restriction_of(provider).reads);
}

bool should_match(std::string_view provider) { return restriction_of(provider).matches; }

bool should_name_senders(std::string_view provider, const OfiTuning& tuning) {
  return tuning.names_senders.value_or(restriction_of(provider).knows_senders);
}

namespace {

/// Return the match bits of an endpoint that must keep the order and accept whole packets.
std::optional<MatchBits> match_bits_of(const fi_info& info, const Traits& traits,
                                       const OfiTuning& tuning) {
  const std::uint64_t by_sender = FI_DIRECTED_RECV | FI_SOURCE;
  if ((info.caps & FI_TAGGED) == 0 || !traits.keeps_order || traits.frame_bytes != kFrameBytes)
    return std::nullopt;
  const std::uint64_t format = info.ep_attr->mem_tag_format;
  const bool names_sender = (info.caps & by_sender) == by_sender &&
                            should_name_senders(info.fabric_attr->prov_name, tuning);
  return MatchBits::of(format == 0 ? 64 : std::bit_width(format), names_sender);
}

}  // namespace

Traits traits_of(const fi_info& info, const OfiTuning& tuning) {
  const auto mr_mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
  const std::uint64_t reads = FI_RMA | FI_READ | FI_REMOTE_READ;
  const Restriction restriction = restriction_of(info.fabric_attr->prov_name);
  Traits traits;
  traits.frame_bytes = least(least(kFrameBytes, info.ep_attr->max_msg_size), tuning.longest_frame);
  if (!restriction.completes_in_any_order)
    traits.frame_bytes = least(traits.frame_bytes, info.tx_attr->inject_size);
  if (restriction.injects && tuning.prefix_bytes == 0)
    traits.inject_bytes = std::min(info.tx_attr->inject_size, traits.frame_bytes);
  traits.prefix_bytes = (info.mode & FI_MSG_PREFIX) != 0 ? info.ep_attr->msg_prefix_size
                                                         : tuning.prefix_bytes;
  traits.knows_callers = restriction.knows_callers;
  const std::size_t two_packets = 2 * (kFrameBytes / traits.frame_bytes +
                                       2);  // fragmented, so that one always fits
  traits.sends = std::max(least(restriction.sends, info.tx_attr->size), two_packets);
  traits.receives = least(kReceiveDepth, info.rx_attr->size);
  traits.keeps_order = !tuning.orders_itself &&
                       (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0;
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
