// SPDX-License-Identifier: BSD-3-Clause
// SharedArea is one process's view of the memory that a VCI shares within the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "shim/base/process_status.hpp"
#include "shim/base/result.hpp"
#include "shim/node/segment_layout.hpp"

namespace shim::node {

/// Memory with the layout of a node segment: the mapping of a segment's file, or anonymous memory
/// that threads and forked children of a program share.
struct SegmentMemory {
  std::byte* begin = nullptr;  ///< zeroed at first; page-aligned; outlives its users
  /// Allocate memory for these whole pages, given by the offset of the first.
  std::function<base::Status(std::size_t offset, std::size_t bytes)> reserve;
  /// Check that this many further bytes are free.
  std::function<base::Status(std::size_t bytes)> check_free;
};

/// Contains one slot, one store and one cell pool per process of the node, and one pair block per
/// ordered pair of processes (sender, receiver). Slots are small and adjacent, so that reading many
/// slots touches few pages. A store is the process's memory for collective segments and rendezvous;
/// a cell pool holds its long packets in transit. The two pair blocks of two processes are
/// adjacent, so that both directions can begin in one page. Memory is initially zero. Processes may
/// map it at different addresses.
class SharedArea {
 public:
  /// @param vci has its own slots, pair blocks and cell pools; all else is the segment's
  SharedArea(const SegmentSpec& spec, const SegmentLayout& layout, SegmentMemory memory,
             std::uint32_t vci = 0);

  std::uint32_t slot_count() const { return slots_; }
  /// Slot of the calling process.
  std::uint32_t own_slot() const { return own_slot_; }

  std::byte* slot(std::uint32_t index) const { return memory_.begin + layout_.slot(index, vci_); }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::byte* store(std::uint32_t index) const { return memory_.begin + layout_.store(index); }
  std::size_t store_bytes() const { return store_bytes_; }
  std::byte* cell_pool(std::uint32_t index) const {
    return memory_.begin + layout_.cell_pool(index, vci_);
  }
  std::size_t cell_pool_bytes() const { return cell_pool_bytes_; }
  /// Pair block for packets from the process of slot `from` to the process of slot `to`. If a > b,
  /// then pair(a, b) ends where pair(b, a) begins, in the middle of a page.
  std::byte* pair(std::uint32_t from, std::uint32_t to) const {
    return memory_.begin + layout_.pair(from, to, vci_);
  }
  std::size_t pair_bytes() const { return layout_.pair_bytes; }

  /// Back the pages of this range with memory, so that a full /dev/shm is an error here and not a
  /// SIGBUS at the first access. This process's slot is already backed; stores, cell pools and pair
  /// blocks are not. Errors: no_space, no_mem.
  base::Status back(std::byte* begin, std::size_t bytes) const;
  /// Back and prefault memory that the caller can do without, and otherwise uses as a whole.
  /// Errors: as back(), and no_space if less space would remain free than the slots and pair blocks
  /// of all VCIs need.
  base::Status back_spare(std::byte* begin, std::size_t bytes) const;
  /// Back the pair block from this process to the process of slot `index`, preferably on the
  /// receiver's NUMA node. Errors: as back().
  base::Status back_pair_to(std::uint32_t index) const;

  /// True if the process of this slot has attached and not left. An acquire load: if true, the
  /// process's writes to its slot before it became ready are visible.
  bool is_ready(std::uint32_t index) const;
  /// True if the process of this slot still runs, as far as this node can detect, or has not
  /// attached yet.
  bool is_alive(std::uint32_t index) const;
  /// Return how often processes have attached to this slot. An acquire load: if the number has
  /// grown, the process of the earlier attachment accesses no shared memory any more.
  std::uint32_t slot_generation(std::uint32_t index) const;
  /// Return how many processes of the area compete, on average, for a core that this process may
  /// run on, as far as known.
  double processes_per_core() const;
  /// Return the pid of a process whose slot is or was ready, for cross-memory attach; 0 if the
  /// process is in another PID namespace.
  std::int32_t pid(std::uint32_t index) const;

 protected:
  const SegmentMemory& memory() const { return memory_; }
  const SegmentLayout& layout() const { return layout_; }
  SlotControl& control(std::uint32_t index) const {
    return *reinterpret_cast<SlotControl*>(memory_.begin + layout_.control(index));
  }
  /// Acquire: pairs with the releases of the process that owns the slot.
  SlotState state(std::uint32_t index) const {
    return static_cast<SlotState>(control(index).state.load(std::memory_order_acquire));
  }
  /// True if the process that owns or owned the slot still runs, as far as this node can detect.
  bool owner_runs(std::uint32_t index) const;

 private:
  SegmentMemory memory_;
  SegmentLayout layout_;
  std::uint32_t vci_, slots_, own_slot_, vci_count_;
  std::size_t slot_bytes_, store_bytes_, cell_pool_bytes_;
  CoreSet cores_;
  std::optional<std::uint32_t> numa_node_;
  base::ProcessIdentity own_ = base::own_identity();
};

}  // namespace shim::node
