// SPDX-License-Identifier: BSD-3-Clause
// What the bytes of a node segment mean:  header | controls of what is found out once | one control block per slot | marks of the
// address table | hardware | map of the nodes | address table | slots | stores | pair blocks | depots | for each further lane:
// slots | pair blocks | depots. Stores and depots begin on page borders, so that backing one with memory does not back its neighbour. Slots do not: memory is counted, and handed
// out, in pages, and a process that writes to all others of its node touches each one's slot. The two pair blocks of two processes share the
// page in their middle, where both begin to be used; all others are theirs alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "shim/base/result.hpp"
#include "shim/bootstrap/hardware.hpp"
#include "shim/bootstrap/found_once.hpp"
#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {

inline constexpr std::uint64_t kSegmentMagic = 0x3147'4553'5245'5449ull;  // "ITERSEG1"
/// Raised with every change of this file's structures, or of their meaning.
inline constexpr std::uint32_t kSegmentVersion = 10;
inline constexpr std::size_t kMaxJobName = 511;
inline constexpr std::uint32_t kMaxSlots = 1u << 14;

std::size_t page_bytes();

/// Written once, before the file has a name, and never again: whoever can open the file finds it complete.
struct SegmentHeader {
  std::uint64_t magic = kSegmentMagic;
  std::uint32_t version = kSegmentVersion;
  std::uint32_t node = 0;                   ///< SegmentSpec::node
  std::uint32_t slots = 0;                  ///< SegmentSpec::slots
  std::uint32_t job_length = 0;             ///< bytes of job
  std::uint64_t slot_bytes = 0;             ///< SegmentSpec::slot_bytes, as asked for and not rounded
  std::uint64_t store_bytes = 0;            ///< SegmentSpec::store_bytes, likewise
  std::uint64_t pair_bytes = 0;             ///< SegmentSpec::pair_bytes, likewise
  std::uint64_t page_bytes = 0;             ///< the unit of rounding
  std::array<char, kMaxJobName + 1> job{};  ///< SegmentSpec::job, zero-terminated
  std::uint64_t job_size = 0;               ///< SegmentSpec::job_size
  std::uint64_t node_map_bytes = 0;         ///< SegmentSpec::node_map_bytes
  std::uint64_t lanes = 0;                  ///< SegmentSpec::lanes
  std::uint64_t depot_bytes = 0;            ///< SegmentSpec::depot_bytes, as asked for
};
static_assert(sizeof(SegmentHeader) == 600);

/// Life of a slot. Zero is "nobody was ever here".
enum class SlotState : std::uint32_t {
  free = 0,
  attaching = 1,  ///< somebody claimed it and writes the rest of the control block
  ready = 2,      ///< others may write to this process
  left = 3,       ///< its process detached
};

/// One per process; in cache lines of its own, because its owner writes it while others read theirs.
struct alignas(64) SlotControl {
  std::atomic<std::uint32_t> state;            ///< SlotState
  std::atomic<std::int32_t> pid;               ///< of the last owner, in its PID namespace; 0: none yet
  std::atomic<std::uint64_t> start_time;       ///< of that process (proc(5))
  std::atomic<std::uint64_t> pid_namespace;    ///< of that process
  std::atomic<std::uint32_t> world_rank;       ///< SegmentSpec::world_rank
  std::atomic<std::uint32_t> incarnation;      ///< how many times somebody attached here
  std::atomic<std::uint32_t> context_counter;  ///< NodeSegment::context_counter; never reset
  std::atomic<std::uint32_t> has_first_cores;  ///< 1: first_cores are there, and will not change
  std::atomic<std::uint32_t> numa_node;        ///< SegmentSpec::numa_node and 1; 0: unknown
  std::atomic<std::uint32_t> lanes;            ///< so many has somebody here had in use; never less
  std::array<std::uint32_t, 4> reserved;
  std::array<std::atomic<std::uint64_t>, 16> cores;        ///< SegmentSpec::cores
  std::array<std::atomic<std::uint64_t>, 16> first_cores;  ///< those of the first to attach here
};
static_assert(sizeof(SlotControl) == 320);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Offsets in the file, all a function of the header.
struct SegmentLayout {
  std::size_t found_controls_offset = 0;  ///< of the hardware, then of the map of the nodes
  std::size_t control_offset = 0;
  std::size_t marks_offset = 0;
  std::size_t hardware_offset = 0;  ///< the first that is not backed from the beginning
  std::size_t node_map_offset = 0;
  std::size_t addresses_offset = 0;
  std::size_t slots_offset = 0;
  std::size_t slot_stride = 0;
  std::size_t stores_offset = 0;
  std::size_t store_stride = 0;
  std::size_t couples_offset = 0;
  std::size_t couple_stride = 0;  ///< of the two blocks of two processes
  std::size_t pair_bytes = 0;
  std::size_t depots_offset = 0;
  std::size_t depot_stride = 0;
  std::size_t further_lanes_offset = 0;
  std::size_t lane_stride = 0;
  std::size_t lane_ring_bytes = 0;  ///< of one lane: what it is of no use without
  std::size_t lane_slots_bytes = 0;  ///< of one lane; whole pages
  std::size_t total_bytes = 0;

  /// Errors: arg (nothing that fits an address space, a job name that is too long, an own slot that does not exist).
  static base::Result<SegmentLayout> of(const SegmentSpec& spec);
  std::size_t control(std::uint32_t index) const { return control_offset + index * sizeof(SlotControl); }
  std::size_t slot(std::uint32_t index, std::uint32_t lane = 0) const { return slots_of(lane) + index * slot_stride; }
  std::size_t store(std::uint32_t index) const { return stores_offset + index * store_stride; }
  std::size_t depot(std::uint32_t index, std::uint32_t lane = 0) const {
    return (lane == 0 ? depots_offset : slots_of(lane) + lane_ring_bytes) + index * depot_stride;
  }
  /// As SharedArea::pair.
  std::size_t pair(std::uint32_t from, std::uint32_t to, std::uint32_t lane = 0) const;
  /// The pages in which nothing but this block lies; pages_of_pair_bytes() of them.
  std::size_t pages_of_pair(std::uint32_t from, std::uint32_t to, std::uint32_t lane = 0) const;
  std::size_t pages_of_pair_bytes() const { return couple_stride / 2 / page_bytes() * page_bytes(); }

 private:
  std::size_t slots_of(std::uint32_t lane) const { return lane == 0 ? slots_offset : further_lanes_offset + (lane - 1) * lane_stride; }
  std::size_t couple(std::uint32_t one, std::uint32_t other, std::uint32_t lane) const;
};

SegmentHeader header_of(const SegmentSpec& spec);
/// Errors: other; names the first thing in which the file differs from what this process wants.
base::Status check_header(const SegmentHeader& found, const SegmentSpec& spec, const std::string& path);

inline std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace shim::bootstrap
