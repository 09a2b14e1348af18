// SPDX-License-Identifier: BSD-3-Clause
// A depot: where a process lays long packets for those of its node, in cells, in place of their rings.
//
// Who stores to lines that another core has read last takes each from that core's caches, and waits for it. Of a ring these are all lines,
// as it is smaller than a core's caches; what is stored in something larger has left them long ago (docs/measurements.md). One of such a
// size for each pair would be too much, so a depot is for all who are sent to; and where processes share cores, each uses a part of its own,
// as they share the caches. Where nodes have memory in parts, pages are near their sender, unlike those of rings: who reads a cell is
// another one each time.
//
// A record in the receiver's ring names the cell, which the receiver empties. Where those that are next are full, because somebody has not
// read for long, packets go through rings as short ones do: nobody waits for a cell. Cells that are full when their sender or their receiver
// ends stay as they are: at the same slot another life may go on with them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/base/shared_area.hpp"
#include "shim/transport/shm/access.hpp"

namespace shim::transport {

inline constexpr std::size_t kDepotCell = 16 * 1024;
/// What fills less than half of its cell would go through less than half of the depot.
inline constexpr std::size_t kLeastInDepot = kDepotCell / 2;

/// The word before a packet, on a line of its own. All of it zero is an empty cell.
struct DepotCell {
  static constexpr std::size_t kPacketOffset = 64;

  alignas(kPacketOffset) std::uint64_t is_full;
  std::byte* packet() { return reinterpret_cast<std::byte*>(this) + kPacketOffset; }
};
inline constexpr std::size_t kLongestInDepot = kDepotCell - DepotCell::kPacketOffset;
static_assert(sizeof(DepotCell) == DepotCell::kPacketOffset);

constexpr bool is_for_depot(std::size_t packet_bytes) { return packet_bytes >= kLeastInDepot && packet_bytes <= kLongestInDepot; }

/// A depot as everybody sees it.
class DepotMemory {
 public:
  DepotMemory() = default;
  DepotMemory(std::byte* begin, std::size_t bytes) : begin_(begin), cells_(static_cast<std::uint32_t>(bytes / kDepotCell)) {}

  std::uint32_t cells() const { return cells_; }
  DepotCell& cell(std::uint32_t number) const { return *reinterpret_cast<DepotCell*>(begin_ + number * kDepotCell); }
  bool holds(const std::byte* packet) const { return packet >= begin_ && packet < begin_ + cells_ * kDepotCell; }
  /// For the receiver of this packet, which it holds.
  template <typename Access = DirectAccess>
  void empty_cell_of(const std::byte* packet) const {
    // release: pairs with the acquire in Depot::find_empty; our reads of the packet are over
    Access::store(cell(static_cast<std::uint32_t>(static_cast<std::size_t>(packet - begin_) / kDepotCell)).is_full, 0, std::memory_order_release);
  }

 private:
  std::byte* begin_ = nullptr;
  std::uint32_t cells_ = 0;
};

/// The own depot. One thread at a time.
class Depot {
 public:
  explicit Depot(base::SharedArea& area) : area_(area), memory_(area.depot(area.own_slot()), area.depot_bytes()) {}

  const DepotMemory& memory() const { return memory_; }
  /// What it holds, or will as more is sent, unless there is no memory for that.
  std::uint64_t room() {
    if (asks_for_room_++ % kAsksBetweenLooks == 0) most_ = most();
    return std::uint64_t{is_refused_ ? backed_ : std::max(backed_, most_)} * kDepotCell;
  }
  /// A cell to be filled, before any other is looked for. Nothing where none of the next few is empty, or there is no memory for any.
  template <typename Access = DirectAccess>
  std::optional<std::uint32_t> find_empty() {
    for (int look = 0; look < kLooks; ++look, ++next_) {
      if (next_ == backed_ && !grow<Access>()) next_ = 0;
      if (backed_ == 0) return std::nullopt;
      // acquire: pairs with the release in empty_cell_of
      if (Access::load(memory_.cell(next_).is_full, std::memory_order_acquire) == 0) return next_;
    }
    return std::nullopt;
  }
  /// The cell that has been found is its receiver's, who is told next.
  template <typename Access = DirectAccess>
  void hand_over(std::uint32_t number) {
    Access::store(memory_.cell(number).is_full, 1, std::memory_order_relaxed);  // released with the record that names the cell
    next_ = number + 1;
  }

 private:
  static constexpr int kLooks = 4;
  static constexpr std::uint32_t kFirstCells = 16;
  static constexpr std::uint32_t kLapsWithout = 7;          ///< through memory just taken, before the one that ends where more is taken
  static constexpr std::uint32_t kLapsBetweenAsking = 256;  ///< for what was refused, which those who left the node may have given back
  static constexpr std::uint32_t kAsksBetweenLooks = 64;    ///< at the processes of the node, one by one

  /// At the end of a lap. Memory is taken as more is sent: as much again where the first cell is still full, or each has been used a few times.
  /// The lap through new memory is slower, which a process that sends little is spared.
  template <typename Access>
  bool grow() {
    if (backed_ == memory_.cells()) return false;
    const bool is_short = !is_refused_ && backed_ != 0 && Access::load(memory_.cell(0).is_full, std::memory_order_relaxed) != 0;
    if (laps_left_ > 0 && !is_short) return --laps_left_, false;
    const std::uint32_t wanted = std::min(std::max(2 * backed_, kFirstCells), most());
    is_refused_ = wanted <= backed_ || !area_.back_spare(reinterpret_cast<std::byte*>(&memory_.cell(backed_)), (wanted - backed_) * kDepotCell);
    laps_left_ = is_refused_ ? kLapsBetweenAsking : kLapsWithout;
    if (!is_refused_) backed_ = wanted;
    return !is_refused_;
  }
  std::uint32_t most() const {
    const double sharers = std::max(area_.processes_per_core(), 1.0);
    return std::min(memory_.cells(), std::max(kFirstCells, static_cast<std::uint32_t>(memory_.cells() / sharers)));
  }

  base::SharedArea& area_;
  DepotMemory memory_;
  std::uint32_t backed_ = 0;  ///< cells that have memory
  std::uint32_t next_ = 0;
  std::uint32_t laps_left_ = 0;  ///< before more memory is asked for
  bool is_refused_ = false;
  std::uint32_t most_ = 0;  ///< as last seen
  std::uint32_t asks_for_room_ = 0;
};

}  // namespace shim::transport
