// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of one node and one job: made by whoever comes first, without a collective, gone with the last.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shim/base/result.hpp"
#include "shim/base/shared_area.hpp"
#include "shim/bootstrap/address_table.hpp"
#include "shim/bootstrap/core_set.hpp"
#include "shim/bootstrap/found_once.hpp"

namespace shim::bootstrap {

inline constexpr std::uint32_t kMaxLanes = 8;

/// What all processes of the node must agree on before they attach; a segment with another layout is refused.
struct SegmentSpec {
  std::string job;          ///< Job::world_name; part of the file's name, and compared in full inside
  std::uint32_t node = 0;   ///< so that simulated nodes that share a /dev/shm stay apart
  std::uint32_t slots = 1;  ///< processes of the job on this node
  std::uint32_t own_slot = 0;
  std::uint32_t world_rank = 0;
  std::uint32_t job_size = 0;  ///< how many records the address table has; 0 where the job has no other nodes
  std::size_t node_map_bytes = 0;  ///< at most; backed with memory only when used
  std::size_t slot_bytes = 0;   ///< per-process memory for the transport
  std::size_t store_bytes = 0;  ///< likewise; backed with memory only when used
  std::size_t pair_bytes = 0;  ///< per ordered pair; backed with memory only when used
  std::size_t depot_bytes = 0;  ///< per process; backed with memory only when used
  std::uint32_t lanes = 1;     ///< how often there are slots, pair blocks and depots; those after the first are backed only when used
  std::string directory = "/dev/shm";
  CoreSet cores;            ///< that this process may run on
  std::optional<std::uint32_t> numa_node;  ///< on which what this process reads is to be; where nothing is said, near its writers
};

/// Owner of the mapping. Destruction leaves the segment; the last one to leave removes the file.
///
/// Life of the file: every attached process holds a shared flock(2) on it. Whoever can take the lock exclusively knows
/// that nobody living uses the file and may remove it: the last to leave does, and attach() does with every file of
/// this user that a killed job left behind. The kernel gives the locks of a killed process back, so nothing depends on
/// clean ends.
class NodeSegment final : public base::SharedArea {
 public:
  /// Local: waits for nobody, except for a process that is just removing the file, at most ready_timeout_s (0: without
  /// end). Creates or joins, after removing what killed jobs of this user left in the directory. Errors: no_space
  /// (names the directory, the bytes wanted, and what to do), no_mem (no room in the address space), access (not ours,
  /// or not 0600), arg (a spec without sense), other (layout or job differs; the slot is taken by a process that
  /// lives).
  static base::Result<std::unique_ptr<NodeSegment>> attach(const SegmentSpec& spec, double ready_timeout_s);
  ~NodeSegment() override;
  /// For a process that ends at once, without destructors: lets go of the file, but keeps the memory, which other threads
  /// may be using, and says nothing to the others, who are to be ended as well and not to be told.
  void leave_at_once();

  std::uint32_t slot_count() const override;
  std::uint32_t own_slot() const override;
  std::byte* slot(std::uint32_t index) override;
  std::size_t slot_bytes() const override;
  std::byte* store(std::uint32_t index) override;
  std::size_t store_bytes() const override;
  std::byte* depot(std::uint32_t index) override;
  std::size_t depot_bytes() const override;
  std::byte* pair(std::uint32_t from, std::uint32_t to) override;
  std::size_t pair_bytes() const override;
  base::Status back(std::byte* begin, std::size_t bytes) override;
  base::Status back_spare(std::byte* begin, std::size_t bytes) override;
  base::Status back_pair_to(std::uint32_t index) override;
  bool is_ready(std::uint32_t index) const override;
  bool is_alive(std::uint32_t index) const override;
  /// True if the process of this slot has ended without leaving.
  bool has_died(std::uint32_t index) const;
  double processes_per_core() const override;
  std::int32_t pid(std::uint32_t index) const override;

  // --- further lanes (segment_lane.hpp), from 1 on
  /// Backs the slots of a lane, all of them: whoever uses it may touch the others'. Errors: as back().
  base::Status open_lane(std::uint32_t lane);
  /// Is there room for the rings of this lane and of those before it, as far as can be told? Errors: no_space.
  base::Status check_room_for_lane(std::uint32_t lane) const;
  std::byte* slot_in(std::uint32_t lane, std::uint32_t index);
  std::byte* pair_in(std::uint32_t lane, std::uint32_t from, std::uint32_t to);
  std::byte* depot_in(std::uint32_t lane, std::uint32_t index);
  base::Status back_pair_in(std::uint32_t lane, std::uint32_t index);
  /// How many lanes, the first one included, this slot's processes have opened so far, those before this one included.
  std::uint32_t lanes_in_use() const;
  /// As many as are wanted where that does not take too much of the address space, else one. The same on all processes of a node.
  static std::uint32_t lanes_that_fit(const SegmentSpec& spec, std::uint32_t wanted);

  /// Return the id of a process that has another segment of this job and node, because it has another folder of the same
  /// name; nothing if none is seen. Looks at all processes.
  std::optional<std::int32_t> other_segment() const;
  /// Has every process of the segment been here? Once it is so, it stays so, and so does processes_per_core but for those that begin anew
  /// on other cores.
  bool has_seen_all() const;
  /// True if a process has completed attaching to this slot since the segment was made. It may have
  /// left since.
  bool was_ready(std::uint32_t index) const;
  /// True if no process has attached to this slot since the segment was made.
  bool is_free(std::uint32_t index) const;
  /// True if a process was attached to this slot, and has left since.
  bool has_left(std::uint32_t index) const;
  /// On which cores the first process of this slot could run when it attached; nothing as long as none has. Never changes.
  std::optional<CoreSet> first_cores(std::uint32_t index) const;
  /// For NodeHardware; HardwareMap::kMostBytes.
  FoundPlace hardware_place();
  /// For the map of the nodes; SegmentSpec::node_map_bytes.
  FoundPlace node_map_place();
  /// Of the node; job_size records.
  AddressTable address_table();
  /// Sets the own ready flag; from here on others may write to this process. Release: pairs with is_ready's acquire.
  void set_ready();
  /// A counter that outlives this attachment as long as anybody keeps the segment, one per process: the next context
  /// id. (A process that ends its last session and begins again must not reuse ids that late messages may carry.)
  std::atomic<std::uint32_t>& context_counter();
  /// How many times a process attached to this slot before, as long as anybody kept the segment; 0 for the first.
  std::uint32_t incarnation() const;

 private:
  struct State;
  explicit NodeSegment(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Removes all segment files of this user in the directory that nobody holds: what killed jobs left. Answers how many.
int sweep_segments(const std::string& directory);

}  // namespace shim::bootstrap
