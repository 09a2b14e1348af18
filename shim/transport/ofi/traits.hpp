// SPDX-License-Identifier: BSD-3-Clause
// Traits describe how to use an endpoint: provider requirements, and features it lacks.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "shim/transport/ofi/match_bits.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::transport {

/// Length of a packet with its frame; known providers send it in one piece.
inline constexpr std::size_t kFrameBytes = 16 * 1024;
/// Concurrent sends, posted receives, and concurrent reads of remote memory.
inline constexpr std::size_t kSendDepth = 128;
inline constexpr std::size_t kReceiveDepth = 128;
inline constexpr std::size_t kReadDepth = 32;
/// Posted receives if the provider matches messages: one half for packets, one half for matched
/// messages, and one drain. Less than the limit of provider sockets, 256.
inline constexpr std::size_t kMatchedDepth = 2 * (kReceiveDepth - 1) + 1;

struct Traits {
  /// Longest single message; longer packets are fragmented.
  std::size_t frame_bytes = kFrameBytes;
  std::size_t inject_bytes = 0;  ///< packets up to this are injected; 0: none
  std::size_t prefix_bytes = 0;  ///< in front of each message, the provider's (FI_MSG_PREFIX)
  std::size_t sends = kSendDepth, receives = kReceiveDepth;
  bool keeps_order = true;  ///< false: FrameOrder restores it (FI_ORDER_SAS)
  /// Send and receive buffers must be registered (FI_MR_LOCAL).
  bool registers_buffers = false;
  /// Registered memory is bound to an endpoint and then enabled (FI_MR_ENDPOINT).
  bool binds_memory = false;
  bool picks_keys = false;        ///< of registered memory (FI_MR_PROV_KEY)
  bool reads_by_address = false;  ///< false: by offset (FI_MR_VIRT_ADDR)
  /// True if this process can reply over any connection that a peer opens; false if it must have
  /// inserted the peer's address before the peer connects.
  bool knows_callers = true;
  std::optional<MatchBits> match_bits = {};  ///< bits it matches by; nullopt: no matching
  /// Longest single read of remote memory; 0: not supported.
  std::size_t read_bytes = 0;
};

/// Derive the traits from libfabric's description of an endpoint.
Traits traits_of(const fi_info& info, const OfiTuning& tuning);

/// True if endpoints of this provider should support remote reads; false if reads are slower
/// (docs/decisions/0025-libfabric-provider-workarounds.md).
bool should_read(std::string_view provider, const OfiTuning& tuning);

/// True if endpoints of this provider should match messages; false if that fails
/// (docs/decisions/0025-libfabric-provider-workarounds.md).
bool should_match(std::string_view provider);
/// True if receives should name their sender's address; false if the provider has been seen not to
/// know it.
bool should_name_senders(std::string_view provider, const OfiTuning& tuning);

/// True if packets accepted by this provider may be lost when their sender closes its endpoint.
/// False for libfabric's shm, whose packets are in the receiver's memory; a packet to a closed
/// endpoint kills its sender there (libfabric 1.17), so none is sent.
inline bool closing_loses_packets(std::string_view provider) { return provider != "shm"; }

}  // namespace shim::transport
