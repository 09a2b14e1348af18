// SPDX-License-Identifier: BSD-3-Clause
// SegmentLayout is the layout of a node segment's file. Order: header | NodeOnce controls | one
// control block per slot | bitmap of the address table | hardware | node map | address table |
// slots | stores | pair blocks | cell pools | for each further VCI: slots, pair blocks, cell pools.
//
// Stores and cell pools begin at page boundaries, so that backing one does not back its neighbor.
// Slots do not: a process that writes to all peers of its node touches each slot, so adjacent slots
// save pages. The two pair blocks of two processes, a couple, are adjacent and share the page in
// their middle, where both are used first; all other pages belong to one block
// (docs/decisions/0028-node-segment-memory.md).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "shim/base/result.hpp"
#include "shim/node/hardware.hpp"
#include "shim/node/node_once.hpp"
#include "shim/node/segment_spec.hpp"

namespace shim::node {

inline constexpr std::uint64_t kSegmentMagic = 0x3147'4553'5245'5449ull;  // "ITERSEG1"
/// Increment with every change of the structures in this file, or of their meaning.
inline constexpr std::uint32_t kSegmentVersion = 11;
inline constexpr std::size_t kMaxJobName = 511;
inline constexpr std::uint32_t kMaxSlots = 1u << 14;

std::size_t page_bytes();

/// Written once, before the file has a name: a process that can open the file finds a complete
/// header.
struct SegmentHeader {
  std::uint64_t magic = kSegmentMagic;
  std::uint32_t version = kSegmentVersion;
  std::uint32_t node = 0;                   ///< SegmentSpec::node
  std::uint32_t slots = 0;                  ///< SegmentSpec::slots
  std::uint32_t job_length = 0;             ///< bytes of job
  std::uint64_t slot_bytes = 0;             ///< SegmentSpec::slot_bytes, not rounded
  std::uint64_t store_bytes = 0;            ///< SegmentSpec::store_bytes, not rounded
  std::uint64_t pair_bytes = 0;             ///< SegmentSpec::pair_bytes, not rounded
  std::uint64_t page_bytes = 0;             ///< page size of the creator, the unit of rounding
  std::array<char, kMaxJobName + 1> job{};  ///< SegmentSpec::job, zero-terminated
  std::uint64_t job_size = 0;               ///< SegmentSpec::job_size
  std::uint64_t node_map_bytes = 0;         ///< SegmentSpec::node_map_bytes
  std::uint64_t vcis = 0;                   ///< SegmentSpec::vcis
  std::uint64_t cell_pool_bytes = 0;        ///< SegmentSpec::cell_pool_bytes, not rounded
};
static_assert(sizeof(SegmentHeader) == 600);

/// State of a slot. Zero: no process has ever attached.
enum class SlotState : std::uint32_t {
  free = 0,
  attaching = 1,  ///< a process claimed it and writes the rest of the control block
  ready = 2,      ///< peers may write to this process
  left = 3,       ///< its process has detached
};

/// Control block of one process, in separate cache lines because its owner writes it while other
/// processes read theirs.
struct alignas(64) SlotControl {
  std::atomic<std::uint32_t> state;       ///< SlotState
  std::atomic<std::int32_t> pid;          ///< of the last owner, in its PID namespace; 0: none yet
  std::atomic<std::uint64_t> start_time;  ///< start time of that process (proc(5))
  std::atomic<std::uint64_t> pid_namespace;    ///< of that process
  std::atomic<std::uint32_t> world_rank;       ///< SegmentSpec::world_rank
  std::atomic<std::uint32_t> generation;       ///< number of attachments to this slot
  std::atomic<std::uint32_t> context_counter;  ///< NodeSegment::context_counter; never reset
  std::atomic<std::uint32_t> has_first_cores;  ///< 1: first_cores is valid, and constant
  std::atomic<std::uint32_t> numa_node;        ///< SegmentSpec::numa_node + 1; 0: unknown
  std::atomic<std::uint32_t> vcis;  ///< largest number of VCIs in use by any process of this slot
  std::array<std::uint32_t, 4> reserved;
  std::array<std::atomic<std::uint64_t>, 16> cores;        ///< SegmentSpec::cores
  std::array<std::atomic<std::uint64_t>, 16> first_cores;  ///< cores of the first process to attach
};
static_assert(sizeof(SlotControl) == 320);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

/// Offsets in the file, all computed from the header's values.
///
/// Size: one or two numbers for each part of the file.
struct SegmentLayout {
  std::size_t once_controls_offset = 0;  ///< hardware, then node map
  std::size_t control_offset = 0;
  std::size_t chunk_bitmap_offset = 0;
  std::size_t hardware_offset = 0;  ///< first part that is not backed at creation
  std::size_t node_map_offset = 0;
  std::size_t addresses_offset = 0;
  std::size_t slots_offset = 0;
  std::size_t slot_stride = 0;
  std::size_t stores_offset = 0;
  std::size_t store_stride = 0;
  std::size_t couples_offset = 0;
  std::size_t couple_stride = 0;  ///< of the two pair blocks of two processes
  std::size_t pair_bytes = 0;
  std::size_t cell_pools_offset = 0;
  std::size_t cell_pool_stride = 0;
  std::size_t extra_vcis_offset = 0;
  std::size_t vci_stride = 0;
  /// of one VCI: slots and pair blocks, which it cannot work without
  std::size_t vci_ring_bytes = 0;
  std::size_t vci_slots_bytes = 0;  ///< of one VCI's slots; whole pages
  std::size_t total_bytes = 0;

  /// Compute the layout. Errors: arg (exceeds the address space, job name too long, own slot out of
  /// range).
  static base::Result<SegmentLayout> of(const SegmentSpec& spec);
  std::size_t control(std::uint32_t index) const {
    return control_offset + index * sizeof(SlotControl);
  }
  std::size_t slot(std::uint32_t index, std::uint32_t vci = 0) const {
    return slots_of(vci) + index * slot_stride;
  }
  std::size_t store(std::uint32_t index) const { return stores_offset + index * store_stride; }
  std::size_t cell_pool(std::uint32_t index, std::uint32_t vci = 0) const {
    return (vci == 0 ? cell_pools_offset : slots_of(vci) + vci_ring_bytes) +
           index * cell_pool_stride;
  }
  /// As SharedArea::pair.
  std::size_t pair(std::uint32_t from, std::uint32_t to, std::uint32_t vci = 0) const;
  /// Offset of the pages that belong to this pair block alone, pages_of_pair_bytes() bytes.
  std::size_t pages_of_pair(std::uint32_t from, std::uint32_t to, std::uint32_t vci = 0) const;
  std::size_t pages_of_pair_bytes() const {
    return couple_stride / 2 / page_bytes() * page_bytes();
  }

 private:
  std::size_t slots_of(std::uint32_t vci) const {
    return vci == 0 ? slots_offset : extra_vcis_offset + (vci - 1) * vci_stride;
  }
  std::size_t couple(std::uint32_t one, std::uint32_t other, std::uint32_t vci) const;
};

SegmentHeader header_of(const SegmentSpec& spec);
/// Compare a file's header with this process's spec. Errors: other (names the first difference).
base::Status check_header(const SegmentHeader& found, const SegmentSpec& spec,
                          const std::string& path);

inline std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace shim::node
