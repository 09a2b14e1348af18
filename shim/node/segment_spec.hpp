// SPDX-License-Identifier: BSD-3-Clause
// SegmentSpec is the parameters of a node segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shim/base/settings.hpp"
#include "shim/node/core_set.hpp"

namespace shim::node {

inline constexpr std::uint32_t kMaxVcis = base::AllowedValues::vcis.most;

/// All processes of the node must pass equal values, except for their own slot, rank and cores;
/// NodeSegment::attach() rejects a segment with another layout.
struct SegmentSpec {
  std::string job;          ///< Job::world_name; part of the file's name, and compared in full
  std::uint32_t node = 0;   ///< separates simulated nodes that share one /dev/shm
  std::uint32_t slots = 1;  ///< processes of the job on this node
  std::uint32_t own_slot = 0;
  std::uint32_t world_rank = 0;
  /// number of records of the address table; 0 if the job has one node
  std::uint32_t job_size = 0;
  std::size_t node_map_bytes = 0;  ///< limit; backed with memory only when used
  // Areas for the transport; SharedArea explains them. All except the slots of the first VCI are
  // backed with memory only when used.
  std::size_t slot_bytes = 0;       ///< of the slot of each process
  std::size_t store_bytes = 0;      ///< of the store of each process, e.g. ShmCollSegments
  std::size_t pair_bytes = 0;       ///< of the pair block of each ordered pair of processes
  std::size_t cell_pool_bytes = 0;  ///< of the cell pool of each process, for long packets
  /// number of VCIs; each has its own slots, pair blocks and cell pools
  std::uint32_t vcis = 1;
  std::string directory = "/dev/shm";
  CoreSet cores;  ///< cores that this process may run on
  /// NUMA node on which writers allocate the pair blocks that this process reads; if empty, each
  /// writer's own
  std::optional<std::uint32_t> numa_node;
};

}  // namespace shim::node
