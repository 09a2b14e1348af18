// SPDX-License-Identifier: BSD-3-Clause
// Packets between the processes of one node, through shared memory that somebody else made (base::SharedArea).
#pragma once

#include <cstdint>
#include <memory>

#include "shim/base/shared_area.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// All processes that share an area use the same ring_bytes and cookie.
struct ShmSettings {
  std::size_t ring_bytes = 64 * 1024;  ///< per ordered pair, control words included; a power of two, kShmLeastRing to kShmMostRing
  bool single_copy = true;             ///< may try_read fetch from other processes (process_vm_readv(2))?
  std::uint64_t cookie = 0;            ///< the job's own number: an address with another one is refused
};
inline constexpr std::size_t kShmLeastRing = 512, kShmMostRing = std::size_t{1} << 30;

/// What the area must provide: a slot's and a pair's bytes.
std::size_t shm_slot_bytes(std::uint32_t slot_count);
std::size_t shm_pair_bytes(const ShmSettings& settings);

/// The address of the process with this slot, made without asking it: whoever knows the node's map knows all its addresses.
Bytes shm_address(std::uint32_t slot, const ShmSettings& settings);

/// Local. The area must outlive the transport, and its own slot must be backed with memory. Make the transport before telling
/// others that this process is ready. A process that leaves and attaches again at the same slot goes on where it was: no
/// packet is lost or delivered twice. Errors: arg (ring_bytes), size (the area is too small for these settings).
///
/// Of its operations: open takes any slot of the area, attached or not; try_send answers again while the peer is not ready,
/// no_space when the first contact finds no memory for the ring, proc_aborted when the ring stays full and the peer is dead.
base::Result<std::unique_ptr<Transport>> make_shm(base::SharedArea& area, const ShmSettings& settings);

}  // namespace shim::transport
