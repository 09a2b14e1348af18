// SPDX-License-Identifier: BSD-3-Clause
// StreamLimits advises how long messages are best sent as packets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Buffer space for messages that are streamed: copied into shared memory by the sender, and out of
/// it by the receiver.
struct StreamBudget {
  std::uint64_t all = 0;  ///< bytes
  /// Share of one peer if this process sends to all peers that share the memory at a time.
  std::uint64_t for_each = 0;
};

/// Optional interface. Without it, parts of long messages are packets of max_packet_bytes, and
/// there is no budget.
class StreamLimits {
 public:
  /// Return the best packet length for parts of long messages to this peer at this time: longer
  /// than max_packet_bytes if the link accepts that already, or shorter.
  virtual std::size_t long_packet_bytes(const Link& to) const = 0;
  /// Shared buffer space for this process's outgoing packets, if larger than a core's caches; else
  /// 0. Long messages that fit are faster copied twice through it than read once.
  virtual StreamBudget stream_budget() = 0;

 protected:
  ~StreamLimits() = default;
};

}  // namespace shim::transport
