// SPDX-License-Identifier: BSD-3-Clause
// LossDetector reports packets that were lost although both processes live.
#pragma once

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface of a transport that can lose packets.
class LossDetector {
 public:
  /// True if packets between this process and the link's process were lost although both live. The
  /// link is gone then, and a message awaited from any source may be among the lost ones. False if
  /// unknown.
  virtual bool has_lost_packets(const Link& link) const = 0;
  /// True if any link has lost packets, including links that were not opened here because their
  /// process only sent to this one.
  virtual bool any_lost_packets() const = 0;
  /// Start a check whether sent packets have arrived; called after a long wait. Later polls process
  /// the responses. A loss makes its link gone.
  virtual void probe_losses() = 0;

 protected:
  ~LossDetector() = default;
};

}  // namespace shim::transport
