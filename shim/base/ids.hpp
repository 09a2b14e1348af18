// SPDX-License-Identifier: BSD-3-Clause
// Ids of processes and communicators, independent of any communicator's ranks.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace shim::base {

/// Id of a process: (world, rank in it); world 0 is this process's world. (MPICH 2025 §3.2:
/// communicator-independent process ids.)
struct ProcessId {
  std::uint32_t world = 0;
  std::uint32_t rank = 0;
  auto operator<=>(const ProcessId&) const = default;
};

/// Extended id of a communicator (Open MPI: extended CID). Unique in the job without the launcher's
/// help: it contains the world rank of the root, and the root numbers the ids that it makes. The
/// root is rank 0 of the communicator; of an intercommunicator, of one of its groups.
struct ExtendedId {
  /// (world rank of the root << 32) | context base that its sessions::Process reserves for this
  std::uint64_t root = 0;
  std::uint64_t counter = 0;  ///< number of extended ids that the root made before
  auto operator<=>(const ExtendedId&) const = default;
};

/// Context id carried by every message; each receiver chooses its own
/// (docs/developer/architecture.md, "Context ids").
using ContextId = std::uint64_t;

}  // namespace shim::base

template <>
struct std::hash<shim::base::ProcessId> {
  std::size_t operator()(const shim::base::ProcessId& p) const noexcept {
    return std::hash<std::uint64_t>()((std::uint64_t{p.world} << 32) | p.rank);
  }
};
