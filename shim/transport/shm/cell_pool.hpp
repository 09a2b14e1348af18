// SPDX-License-Identifier: BSD-3-Clause
// A cell pool holds long packets to processes of the node, outside their rings.
//
// A store to a cache line that another core read last must first invalidate that core's copy, and
// stalls until it has. A ring is smaller than a core's caches, so this affects all its lines; in a
// larger pool the lines have been evicted before they are reused
// (docs/decisions/0046-cell-pool.md). As a pool per pair would be too large, all receivers share
// the sender's pool. If processes share cores, and so their caches, each uses only a part of its
// pool. On NUMA machines cells are near the sender, unlike rings, because each is read by many
// processes.
//
// Each receiver has a partition of the pool and faults in only its pages. Partitions begin side by
// side, double after a fixed number of laps, and then overlap. A larger partition is better, but
// sender and receiver must fault in each new page (docs/decisions/0047-prefault-and-growth.md).
//
// A record in the receiver's ring names the cell, and the receiver releases the cell. If the next
// cells are full because a receiver has not read for long, packets go through the rings like short
// ones: no sender waits for a cell. Cells that are full when their sender or receiver exits stay
// full: another incarnation in that slot may continue with them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shim/node/shared_area.hpp"
#include "shim/transport/shm/access.hpp"

namespace shim::transport {

inline constexpr std::size_t kCellBytes = 16 * 1024;
/// A shorter packet would waste more than half of its cell.
inline constexpr std::size_t kMinPooledPacket = kCellBytes / 2;

/// Header of a cell, on its own cache line in front of the packet. Zero is an empty cell.
struct Cell {
  static constexpr std::size_t kPacketOffset = 64;

  alignas(kPacketOffset) std::uint64_t is_full;
  std::byte* packet() { return reinterpret_cast<std::byte*>(this) + kPacketOffset; }
};
inline constexpr std::size_t kMaxPooledPacket = kCellBytes - Cell::kPacketOffset;
static_assert(sizeof(Cell) == Cell::kPacketOffset);

constexpr bool fits_cell(std::size_t packet_bytes) {
  return packet_bytes >= kMinPooledPacket && packet_bytes <= kMaxPooledPacket;
}

/// The memory of a cell pool, as seen by all processes.
class CellPoolMemory {
 public:
  CellPoolMemory() = default;
  CellPoolMemory(std::byte* begin, std::size_t bytes)
      : begin_(begin), cells_(static_cast<std::uint32_t>(bytes / kCellBytes)) {}

  std::uint32_t cells() const { return cells_; }
  Cell& cell(std::uint32_t number) const {
    return *reinterpret_cast<Cell*>(begin_ + number * kCellBytes);
  }
  bool contains(const std::byte* packet) const {
    return packet >= begin_ && packet < begin_ + cells_ * kCellBytes;
  }
  /// Release the cell of this packet. Called by its receiver.
  template <typename Access = DirectAccess>
  void release_cell_of(const std::byte* packet) const {
    // release: pairs with the acquire in CellPool::acquire; this process has finished reading
    Access::store(
        cell(static_cast<std::uint32_t>(static_cast<std::size_t>(packet - begin_) / kCellBytes))
            .is_full,
        0, std::memory_order_release);
  }

 private:
  std::byte* begin_ = nullptr;
  std::uint32_t cells_ = 0;
};

/// Cells of one sender's pool for packets to one receiver. Grown partitions overlap, so some of the
/// cells may hold packets to other receivers.
struct CellPartition {
  std::uint32_t first = 0;  ///< index of the first cell in the pool
  std::uint32_t cells = 0;
  std::uint32_t within = 0;  ///< uses only this many first cells of the pool, and wraps there
  std::uint32_t next = 0;    ///< index within the partition
  /// Cells published since the partition grew or growth was refused; without cells: acquire()
  /// calls.
  std::uint64_t published = 0;
  /// Nonzero if memory for growth was refused; not bool, so that the ring's model test sees no
  /// padding.
  std::uint32_t is_refused = 0;
};

/// This process's cell pool, as its sender. One thread at a time.
class CellPool {
 public:
  explicit CellPool(node::SharedArea& area)
      : area_(area),
        memory_(area.cell_pool(area.own_slot()), area.cell_pool_bytes()),
        is_backed_((memory_.cells() + kInitialCells - 1) / kInitialCells) {}

  const CellPoolMemory& memory() const { return memory_; }
  /// Return the pool's size, including memory that it would allocate on demand.
  std::uint64_t capacity_bytes() {
    if (capacity_calls_++ % kCallsPerRefresh == 0) max_cells_ = max_cells();
    return std::uint64_t{is_refused_ ? backed_ : std::max(backed_, max_cells_)} * kCellBytes;
  }
  /// Acquire an empty cell of this partition, to be filled before the next call. Nullopt if none of
  /// the next few cells is empty, or there is no memory.
  template <typename Access = DirectAccess>
  std::optional<std::uint32_t> acquire(CellPartition& partition) {
    for (int probe = 0; probe < kMaxProbes; ++probe, ++partition.next) {
      if (partition.next == partition.cells && !grow<Access>(partition)) partition.next = 0;
      if (partition.cells == 0) return ++partition.published, std::nullopt;
      const std::uint32_t number = number_of(partition, partition.next);
      // acquire: pairs with the release in release_cell_of
      if (Access::load(memory_.cell(number).is_full, std::memory_order_acquire) != 0) continue;
      return number;
    }
    return std::nullopt;
  }
  /// Mark the acquired cell as full; the caller then publishes its record.
  template <typename Access = DirectAccess>
  void publish(CellPartition& partition, std::uint32_t number) {
    Access::store(memory_.cell(number).is_full, 1,
                  // Released with the record that names the cell.
                  std::memory_order_relaxed);
    ++partition.next;
    ++partition.published;
  }

 private:
  static constexpr int kMaxProbes = 4;
  static constexpr std::uint32_t kInitialCells = 4;  ///< added to a partition at first
  /// Least part of its pool that a process may use, however many processes share its cores.
  static constexpr std::uint32_t kMinCells = 16;
  /// Laps through a partition until it doubles; it doubles at once if its first cell is still full
  /// at the end of a lap.
  static constexpr std::uint32_t kLapsUntilGrowth = 256;
  /// Laps after refused growth before the next attempt, because processes that left the node may
  /// have freed memory.
  static constexpr std::uint32_t kLapsBeforeRetry = 256;
  /// capacity_bytes() calls max_cells() once in this many calls, because max_cells() inspects each
  /// process of the node.
  static constexpr std::uint32_t kCallsPerRefresh = 64;

  static std::uint32_t number_of(const CellPartition& partition, std::uint32_t cell) {
    return (partition.first + cell) % partition.within;
  }

  /// At the end of a lap: double the partition if the pool has more cells and growth_threshold()
  /// cells have been published.
  template <typename Access>
  bool grow(CellPartition& partition) {
    if (partition.cells == memory_.cells() ||
        partition.published < growth_threshold<Access>(partition))
      return false;
    const std::uint32_t all = partition.within != 0 ? std::min(max_cells(), partition.within)
                                                    : max_cells();
    const std::uint32_t target = std::min(std::max(2 * partition.cells, kInitialCells), all);
    partition.published = 0;
    if (target <= partition.cells) return false;
    if (partition.within == 0) {
      partition.within = all;
      partition.first = partitions_++ * kInitialCells % all;
    }
    is_refused_ = !back(partition, target);
    partition.is_refused = is_refused_;
    if (is_refused_) return false;
    partition.cells = target;
    return true;
  }
  /// Return the number of published cells after which the partition grows.
  template <typename Access>
  std::uint64_t growth_threshold(const CellPartition& partition) const {
    if (partition.is_refused != 0)
      return std::uint64_t{kLapsBeforeRetry} * std::max(partition.cells, kInitialCells);
    if (partition.cells == 0) return 0;
    const bool is_short = Access::load(memory_.cell(number_of(partition, 0)).is_full,
                                       std::memory_order_relaxed) != 0;
    return is_short ? 0 : std::uint64_t{kLapsUntilGrowth} * partition.cells;
  }
  /// Allocate memory for the partition's cells up to `target`.
  bool back(const CellPartition& partition, std::uint32_t target) {
    for (std::uint32_t cell = partition.cells; cell < target; cell += kInitialCells) {
      const std::uint32_t number = number_of(partition, cell),
                          part = std::min(kInitialCells, memory_.cells() - number);
      if (is_backed_[number / kInitialCells]) continue;
      if (!area_.back_spare(reinterpret_cast<std::byte*>(&memory_.cell(number)), part * kCellBytes))
        return false;
      is_backed_[number / kInitialCells] = true;
      backed_ += part;
    }
    return true;
  }
  std::uint32_t max_cells() const {
    const double sharers = std::max(area_.processes_per_core(), 1.0);
    const std::uint32_t part = std::max(kMinCells,
                                        static_cast<std::uint32_t>(memory_.cells() / sharers));
    return std::min(memory_.cells(), part / kInitialCells * kInitialCells);
  }

  node::SharedArea& area_;
  CellPoolMemory memory_;
  std::vector<bool> is_backed_;  ///< in units of kInitialCells
  std::uint32_t backed_ = 0;     ///< cells with memory
  std::uint32_t partitions_ = 0;
  bool is_refused_ = false;      ///< the last allocation
  std::uint32_t max_cells_ = 0;  ///< as last computed
  std::uint32_t capacity_calls_ = 0;
};

}  // namespace shim::transport
