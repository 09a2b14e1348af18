// SPDX-License-Identifier: BSD-3-Clause
// Who is who, independent of any communicator.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace shim::base {

/// A process: (world, rank in that world). World 0 is one's own. (MPICH 2025 §3.2: communicator-independent process ids.)
struct ProcessId {
  std::uint32_t world = 0;
  std::uint32_t rank = 0;
  auto operator<=>(const ProcessId&) const = default;
};

/// The extended id of a communicator: unique in the job without the runtime's help, because only its leader counts.
struct ExtendedId {
  std::uint64_t leader = 0;   ///< (world rank << 32) | incarnation of the leader's process object
  std::uint64_t counter = 0;  ///< the leader's running number of creations
  auto operator<=>(const ExtendedId&) const = default;
};

/// The small id that travels in every message; each receiver chooses its own (docs/architecture.md, "Context ids").
using ContextId = std::uint64_t;

}  // namespace shim::base

template <>
struct std::hash<shim::base::ProcessId> {
  std::size_t operator()(const shim::base::ProcessId& p) const noexcept {
    return std::hash<std::uint64_t>()((std::uint64_t{p.world} << 32) | p.rank);
  }
};
