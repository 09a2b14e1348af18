// SPDX-License-Identifier: BSD-3-Clause
// EagerLimits are the lengths up to which messages to a process are sent in one packet.
#pragma once

#include <cstdint>

#include "shim/base/settings.hpp"
#include "shim/p2p/peer.hpp"

namespace shim::p2p {

class EagerLimits {
 public:
  /// @param settings must outlive this object
  explicit EagerLimits(const base::Settings& settings);

  /// True if transports may match ("provider matching", docs/developer/matching.md).
  bool may_match_in_provider() const { return may_match_in_provider_; }
  /// Set the limits of a peer after its link has been opened, or it has throttled this process.
  void set(Peer& to) const;

 private:
  const base::Settings& settings_;
  const bool may_match_in_provider_;
};

}  // namespace shim::p2p
