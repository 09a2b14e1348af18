// SPDX-License-Identifier: BSD-3-Clause
// NetworkAddress is the address of a process for other nodes.
#pragma once

#include <cstdint>

#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// Address of a process for other nodes. A process that re-initializes gets a new address;
/// incarnations, counted from 0, order them.
struct NetworkAddress {
  std::uint32_t incarnation = 0;
  transport::Bytes bytes;  ///< as encoded by its transport; empty: none
  bool operator==(const NetworkAddress&) const = default;
};

}  // namespace shim::sessions
