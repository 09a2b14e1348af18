// SPDX-License-Identifier: BSD-3-Clause
// NodeSegment is the shared memory of one job on one node. The first process to attach creates it,
// without a collective call; the last process to leave removes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/base/shared_area.hpp"
#include "shim/bootstrap/address_table.hpp"
#include "shim/bootstrap/core_set.hpp"
#include "shim/bootstrap/node_once.hpp"

namespace shim::bootstrap {

inline constexpr std::uint32_t kMaxVcis = base::AllowedValues::vcis.most;

/// Parameters of a segment. All processes of the node must pass equal values, except for their own
/// slot, rank and cores; attach() rejects a segment with another layout.
struct SegmentSpec {
  std::string job;          ///< Job::world_name; part of the file's name, and compared in full
  std::uint32_t node = 0;   ///< separates simulated nodes that share one /dev/shm
  std::uint32_t slots = 1;  ///< processes of the job on this node
  std::uint32_t own_slot = 0;
  std::uint32_t world_rank = 0;
  /// number of records of the address table; 0 if the job has one node
  std::uint32_t job_size = 0;
  std::size_t node_map_bytes = 0;  ///< limit; backed with memory only when used
  // Areas for the transport; base::SharedArea explains them. All except the slots of the first VCI
  // are backed with memory only when used.
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

/// Owner of the mapping. The destructor leaves the segment; the last process to leave removes the
/// file.
///
/// Lifetime of the file: every attached process holds a shared flock(2) on it. A process that gets
/// the exclusive lock knows that the file is unused and may remove it. The last process to leave
/// does so, and attach() does so for all files of this user that killed jobs left behind. The
/// kernel releases the locks of a killed process.
class NodeSegment final : public base::SharedArea {
 public:
  /// Create or join the segment, after removing files of killed jobs of this user from the
  /// directory. Local: waits only for a process that is removing the file, for at most
  /// ready_timeout_s (0: without limit). Errors: no_space (names the directory, the bytes needed,
  /// and a remedy), no_mem (address space exhausted), access (other owner, or mode other than
  /// 0600), arg (invalid spec), other (layout or job differs; a running process holds the slot).
  static base::Result<std::unique_ptr<NodeSegment>> attach(const SegmentSpec& spec,
                                                           double ready_timeout_s);
  ~NodeSegment() override;
  /// Leave the segment as the destructor does, for a process that ends without running destructors,
  /// but keep the mapping, which other threads may use.
  void leave_at_once();
  /// Release the file, so that its last user removes it, for a process that an error ends. The slot
  /// stays ready: peers find that the process has died, once it has ended.
  void release_file();

  std::uint32_t slot_count() const override;
  std::uint32_t own_slot() const override;
  std::byte* slot(std::uint32_t index) override;
  std::size_t slot_bytes() const override;
  std::byte* store(std::uint32_t index) override;
  std::size_t store_bytes() const override;
  std::byte* cell_pool(std::uint32_t index) override;
  std::size_t cell_pool_bytes() const override;
  std::byte* pair(std::uint32_t from, std::uint32_t to) override;
  std::size_t pair_bytes() const override;
  base::Status back(std::byte* begin, std::size_t bytes) override;
  base::Status back_spare(std::byte* begin, std::size_t bytes) override;
  base::Status back_pair_to(std::uint32_t index) override;
  bool is_ready(std::uint32_t index) const override;
  bool is_alive(std::uint32_t index) const override;
  std::uint32_t slot_generation(std::uint32_t index) const override;
  /// True if the process of this slot has ended without leaving.
  bool has_died(std::uint32_t index) const;
  double processes_per_core() const override;
  std::int32_t pid(std::uint32_t index) const override;

  // --- further VCIs (segment_vci.hpp), from 1 on
  /// Back all slots of a VCI with memory, because its users may access the slots of all processes.
  /// Errors: as back().
  base::Status open_vci(std::uint32_t vci);
  /// Check that memory for the rings of this VCI and of all VCIs before it is free, as far as can
  /// be known. Errors: no_space.
  base::Status check_space_for_vci(std::uint32_t vci) const;
  std::byte* slot_in(std::uint32_t vci, std::uint32_t index);
  std::byte* pair_in(std::uint32_t vci, std::uint32_t from, std::uint32_t to);
  std::byte* cell_pool_in(std::uint32_t vci, std::uint32_t index);
  base::Status back_pair_in(std::uint32_t vci, std::uint32_t index);
  /// Return the largest number of VCIs, including the first, that a process of this slot, present
  /// or earlier, has opened.
  std::uint32_t vcis_in_use() const;
  /// Return `wanted`, or 1 if this many VCIs would take too much address space. Equal on all
  /// processes of a node.
  static std::uint32_t vcis_that_fit(const SegmentSpec& spec, std::uint32_t wanted);

  /// Return the id of a process that has another segment of this job and node, because another file
  /// system is mounted at its directory; nothing if none is found. Scans all processes.
  std::optional<std::int32_t> other_segment() const;
  /// True if every process of the segment has attached at least once. Then processes_per_core()
  /// stays constant, except for processes that re-initialize on other cores.
  bool has_seen_all() const;
  /// True if a process has completed attaching to this slot since the segment was made. It may have
  /// left since.
  bool was_ready(std::uint32_t index) const;
  /// True if no process has attached to this slot since the segment was made.
  bool is_free(std::uint32_t index) const;
  /// True if a process was attached to this slot, and has left since.
  bool has_left(std::uint32_t index) const;
  /// Cores of the first process of this slot, recorded when it attached; nothing before. Never
  /// changes.
  std::optional<CoreSet> first_cores(std::uint32_t index) const;
  /// Storage for NodeHardware; HardwareMap::kMaxBytes.
  NodeOnceStorage hardware_storage();
  /// Storage for the node map; SegmentSpec::node_map_bytes.
  NodeOnceStorage node_map_storage();
  /// Address table of the node, with job_size records.
  AddressTable address_table();
  /// Set the ready flag of this process; peers may then write to its slot. Release: pairs with the
  /// acquire in is_ready().
  void set_ready();
  /// Next context id of this slot. The counter outlives this attachment while any process holds the
  /// segment: a process that re-initializes must not reuse ids that late messages may carry.
  std::atomic<std::uint32_t>& context_counter();

 private:
  struct State;
  explicit NodeSegment(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Remove all unused segment files of this user from the directory, left by killed jobs. Return
/// their number.
int remove_unused_segments(const std::string& directory);

}  // namespace shim::bootstrap
