// SPDX-License-Identifier: BSD-3-Clause
// Transport between the processes of one node, through existing shared memory (node::SharedArea).
#pragma once

#include <cstdint>
#include <memory>

#include "shim/node/shared_area.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// All processes that share an area use equal ring_bytes and cookies.
struct ShmSettings {
  /// Per ordered pair, with control words; a power of two, kMinShmRing to kMaxShmRing.
  std::size_t ring_bytes = 64 * 1024;
  bool single_copy = true;   ///< true: try_read may use process_vm_readv(2)
  std::uint64_t cookie = 0;  ///< the job's number; addresses with another one are refused
};
inline constexpr std::size_t kMinShmRing = 512, kMaxShmRing = std::size_t{1} << 30;

/// Return the bytes of a slot, and of a pair block, that the area must provide.
std::size_t shm_slot_bytes(std::uint32_t slot_count);
std::size_t shm_pair_bytes(const ShmSettings& settings);

/// Return the address of the process in this slot, without communication: the node map is enough to
/// compute all addresses of a node.
Bytes shm_address(std::uint32_t slot, const ShmSettings& settings);

/// Create the transport. Local. The area must outlive it, and the area's local slot must have
/// memory. Create it before announcing this process as ready. A process that leaves and re-attaches
/// at its slot continues in place: no packet is lost or delivered twice. Errors: arg (ring_bytes),
/// size (the area is too small for these settings).
///
/// open accepts any slot of the area, attached or not. try_send returns again while the peer is not
/// ready, no_space if there is no memory for the ring at first contact, and proc_aborted if the
/// ring stays full and the peer is dead.
base::Result<std::unique_ptr<Transport>> make_shm(node::SharedArea& area,
                                                  const ShmSettings& settings);

}  // namespace shim::transport
