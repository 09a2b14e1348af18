// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// Where a process can be reached over the fabric. A process that ends its last session and begins again has a new endpoint;
/// its life counts them from 0, so that a newer address is told from an older one.
struct FabricAddress {
  std::uint32_t life = 0;
  transport::Bytes bytes;  ///< as its transport made it; empty: none
  bool operator==(const FabricAddress&) const = default;
};

}  // namespace shim::sessions
