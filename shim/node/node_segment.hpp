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
#include "shim/node/address_table.hpp"
#include "shim/node/core_set.hpp"
#include "shim/node/node_once.hpp"
#include "shim/node/segment_spec.hpp"
#include "shim/node/shared_area.hpp"

namespace shim::node {

/// Owner of the mapping, and the area of VCI 0. The destructor leaves the segment; the last process
/// to leave removes the file.
///
/// Lifetime of the file: every attached process holds a shared flock(2) on it. A process that gets
/// the exclusive lock knows that the file is unused and may remove it. The last process to leave
/// does so, and attach() does so for all files of this user that killed jobs left behind. The
/// kernel releases the locks of a killed process.
class NodeSegment final : public SharedArea {
 public:
  /// Create or join the segment, after removing files of killed jobs of this user from the
  /// directory. Local: waits only for a process that is removing the file, for at most
  /// ready_timeout_s (0: without limit). Errors: no_space (names the directory, the bytes needed,
  /// and a remedy), no_mem (address space exhausted), access (other owner, or mode other than
  /// 0600), arg (invalid spec), other (layout or job differs; a running process holds the slot).
  static base::Result<std::unique_ptr<NodeSegment>> attach(const SegmentSpec& spec,
                                                           double ready_timeout_s);
  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;
  /// Leave the segment as the destructor does, for a process that ends without running destructors,
  /// but keep the mapping, which other threads may use.
  void leave_at_once();
  /// Release the file, so that its last user removes it, for a process that an error ends. The slot
  /// stays ready: peers find that the process has died, once it has ended.
  void release_file();

  /// True if the process of this slot has ended without leaving.
  bool has_died(std::uint32_t index) const;

  // --- further VCIs, from 1 on
  /// Back all slots of a VCI with memory, because its users may access the slots of all processes.
  /// Errors: as back().
  base::Status open_vci(std::uint32_t vci);
  /// Check that memory for the rings of this VCI and of all VCIs before it is free, as far as can
  /// be known. Errors: no_space.
  base::Status check_space_for_vci(std::uint32_t vci) const;
  /// Return the area of a VCI. It refers to this object.
  SharedArea area_of(std::uint32_t vci) const;
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

}  // namespace shim::node
