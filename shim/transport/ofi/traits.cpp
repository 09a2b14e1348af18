// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/traits.hpp"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>

namespace shim::transport {
namespace {

/// What a provider, or the layer above it, offers and is better not used, as libfabric 1.17 was seen to do (docs/measurements.md).
struct Reserve {
  std::string_view name;
  bool injects;  ///< still used
  bool reads;    ///< still used
  std::size_t sends = kSendDepth;  ///< at once
  bool knows_callers = true;
};
constexpr std::array kReserves{
    // Nobody hears of an injected message that was lost, the connection is made anew for ever, and nothing is gained.
    Reserve{"ofi_rxm", false, true},
    Reserve{"net", false, true},
    Reserve{"tcp", false, true},  // what net is called from libfabric 1.18 on
    // Injected messages use up its operations; fi_send then says 0 and sends nothing. With many sends under way messages are lost, and
    // others come with the bytes of later ones.
    Reserve{"ofi_rxd", false, false, 8},
    Reserve{"shm", true, false},
    // Answers go over a second connection otherwise, and each message costs the system an acknowledgement of its own (a third of the time).
    Reserve{"sockets", true, true, kSendDepth, false},
};

Reserve reserve_of(std::string_view provider) {
  const std::string_view layer = provider.substr(provider.rfind(';') + 1);  // all of it where there is none
  const auto* found = std::ranges::find(kReserves, layer, &Reserve::name);
  return found == kReserves.end() ? Reserve{provider, true, true} : *found;
}

/// Reads of this size leave room for others in between, and several under way fill the wire.
constexpr std::size_t kReadBytes = 256 * 1024;

/// 0 says of some attributes that there is no limit.
std::size_t least(std::size_t wanted, std::size_t limit) { return limit == 0 ? wanted : std::min(wanted, limit); }

}  // namespace

bool should_read(std::string_view provider, const OfiTuning& tuning) {
  return tuning.reads.value_or(reserve_of(provider).reads);
}

Traits traits_of(const fi_info& info, const OfiTuning& tuning) {
  const auto mr_mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
  const std::uint64_t reads = FI_RMA | FI_READ | FI_REMOTE_READ;
  const Reserve reserve = reserve_of(info.fabric_attr->prov_name);
  Traits traits;
  traits.frame_bytes = least(least(kFrameBytes, info.ep_attr->max_msg_size), tuning.longest_frame);
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
  return traits;
}

}  // namespace shim::transport
