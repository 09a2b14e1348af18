// SPDX-License-Identifier: BSD-3-Clause
// How an endpoint is to be used: what its provider asks of us, and what it leaves for us to do.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "shim/transport/ofi/match_bits.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::transport {

/// Packets with their frame fit into this, which is what the providers that we know send in one piece.
inline constexpr std::size_t kFrameBytes = 16 * 1024;
/// Sends in progress at once, receives posted, and reads of other processes' memory.
inline constexpr std::size_t kSendDepth = 128;
inline constexpr std::size_t kReceiveDepth = 128;
inline constexpr std::size_t kReadDepth = 32;
/// Receives posted where the provider matches as well: so many for packets, as many that it matches, and one that accepts all;
/// sockets has 256.
inline constexpr std::size_t kMatchedDepth = 2 * (kReceiveDepth - 1) + 1;

struct Traits {
  std::size_t frame_bytes = kFrameBytes;  ///< the longest that goes as one message; a longer packet goes in pieces
  std::size_t inject_bytes = 0;           ///< frames of packets up to this need no operation; 0: none
  std::size_t prefix_bytes = 0;           ///< in front of each message, the provider's own (FI_MSG_PREFIX)
  std::size_t sends = kSendDepth, receives = kReceiveDepth;
  bool keeps_order = true;         ///< else frames are put in order here (FI_ORDER_SAS)
  bool registers_buffers = false;  ///< what it sends from and receives into must be known to it (FI_MR_LOCAL)
  bool binds_memory = false;       ///< registered memory belongs to an endpoint, and is enabled by us (FI_MR_ENDPOINT)
  bool picks_keys = false;         ///< of registered memory; else we do (FI_MR_PROV_KEY)
  bool reads_by_address = false;   ///< else by offset (FI_MR_VIRT_ADDR)
  bool knows_callers = true;       ///< else its peer's connection is used for answers only if the peer's address was in the table before
  std::optional<MatchBits> match_bits = {};  ///< by which it matches; none: it does not
  std::size_t read_bytes = 0;      ///< the longest single read of another process's memory; 0: it cannot be read
};

/// What libfabric's description of an endpoint comes to.
Traits traits_of(const fi_info& info, const OfiTuning& tuning);

/// Should this provider's endpoints be asked for reads of each other's memory? Not where they lose (docs/measurements.md).
bool should_read(std::string_view provider, const OfiTuning& tuning);

/// Should this provider's endpoints be asked to match messages? Not where that fails (docs/measurements.md).
bool should_match(std::string_view provider);
/// And receives name the address of their sender? Not where the provider was seen not to know it.
bool should_name_senders(std::string_view provider, const OfiTuning& tuning);

/// May packets that this provider has taken be lost when their sender closes its endpoint? Not those of libfabric's shm: they
/// are in the receiver's memory; and a packet to one who has closed ends the process there (libfabric 1.17), so none is sent.
inline bool closing_loses_packets(std::string_view provider) { return provider != "shm"; }

}  // namespace shim::transport
