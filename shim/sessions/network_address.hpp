// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// Where a process can be called from other nodes. A process that ends its last session and begins again is called elsewhere;
/// its life counts them from 0, so that a newer address is told from an older one.
struct NetworkAddress {
  std::uint32_t life = 0;
  transport::Bytes bytes;  ///< as its transport made it; empty: none
  bool operator==(const NetworkAddress&) const = default;
};

}  // namespace shim::sessions
