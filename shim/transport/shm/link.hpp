// SPDX-License-Identifier: BSD-3-Clause
// ShmLink is the shared-memory link to one process of this node.
#pragma once

#include <cstdint>

#include "shim/base/clock.hpp"
#include "shim/node/slot.hpp"
#include "shim/transport/shm/peer_memory.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

struct ShmLink final : Link {
  explicit ShmLink(std::uint32_t slot_number) : slot(slot_number) {}
  std::uint32_t slot;
  bool connected = false;  ///< the ring has memory and the receiver knows of it
  RingWriter<> ring;
  RingWriter<>::Reservation reserved;  ///< for a packet that is being written
  node::SlotMemory* peer = nullptr;
  PeerMemory memory;
  std::uint32_t refusals = 0;  ///< sends in a row without space
  base::Nanoseconds checked_at = 0;
};

}  // namespace shim::transport
