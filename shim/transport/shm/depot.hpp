// SPDX-License-Identifier: BSD-3-Clause
// A depot: where a process lays long packets for those of its node, in cells, in place of their rings.
//
// Who stores to lines that another core has read last takes each from that core's caches, and waits for it. Of a ring these are all lines,
// as it is smaller than a core's caches; what is stored in something larger has left them long ago (docs/measurements.md). One of such a
// size for each pair would be too much, so a depot is for all who are sent to; and where processes share cores, each uses a part of its own,
// as they share the caches. Where nodes have memory in parts, pages are near their sender, unlike those of rings: who reads a cell is
// another one each time.
//
// Each receiver has a window of a depot, which is all that it has to meet. Windows begin side by side, become larger when what went through
// them has paid for that (paid_laps.hpp), and overlap then.
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
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/shared_area.hpp"
#include "shim/transport/shm/access.hpp"
#include "shim/transport/shm/paid_laps.hpp"

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

/// The cells of a sender's depot that are for one receiver, as far as nobody else is using them. To be used with one depot.
struct DepotWindow {
  std::uint32_t first = 0;  ///< of the depot's
  std::uint32_t cells = 0;
  std::uint32_t within = 0;       ///< of the depot's first so many, round which it goes
  std::uint32_t next = 0;         ///< of its cells
  std::uint64_t handed_over = 0;  ///< since it became larger, or that was refused; where it has no cells: how often one was asked for
  std::uint32_t is_new = 0;       ///< so many of it had not been used by anybody then
  std::uint32_t is_refused = 0;   ///< memory for more, if not 0; no bool, so that the model of the ring sees no padding
  PaidLaps paid;
  base::Nanoseconds found_at = 0;
};

/// The own depot. One thread at a time.
class Depot {
 public:
  using Clock = base::Nanoseconds();

  explicit Depot(base::SharedArea& area, Clock* now = base::now_ns)
      : area_(area), now_(now), memory_(area.depot(area.own_slot()), area.depot_bytes()), is_backed_((memory_.cells() + kFirstCells - 1) / kFirstCells) {}

  const DepotMemory& memory() const { return memory_; }
  /// What it holds, or will as more is sent, unless there is no memory for that.
  std::uint64_t room() {
    if (asks_for_room_++ % kAsksBetweenLooks == 0) most_ = most();
    return std::uint64_t{is_refused_ ? backed_ : std::max(backed_, most_)} * kDepotCell;
  }
  /// A cell of this window to be filled, before any other is looked for. Nothing where none of the next few is empty, or there is no memory.
  template <typename Access = DirectAccess>
  std::optional<std::uint32_t> find_empty(DepotWindow& window) {
    for (int look = 0; look < kLooks; ++look, ++window.next) {
      if (window.next == window.cells && !grow<Access>(window)) window.next = 0;
      if (window.cells == 0) return ++window.handed_over, std::nullopt;
      const std::uint32_t number = number_of(window, window.next);
      // acquire: pairs with the release in empty_cell_of
      if (Access::load(memory_.cell(number).is_full, std::memory_order_acquire) != 0) continue;
      if (is_timed(window)) window.found_at = now_();
      return number;
    }
    return std::nullopt;
  }
  /// The cell that has been found is its receiver's, who is told next.
  template <typename Access = DirectAccess>
  void hand_over(DepotWindow& window, std::uint32_t number) {
    Access::store(memory_.cell(number).is_full, 1, std::memory_order_relaxed);  // released with the record that names the cell
    if (is_timed(window)) note_copy(window, now_() - window.found_at);
    ++window.next;
    ++window.handed_over;
  }

 private:
  static constexpr int kLooks = 4;
  static constexpr std::uint32_t kFirstCells = 4;           ///< of a window
  static constexpr std::uint32_t kLeastCells = 16;          ///< of a depot, in how many parts it may be
  static constexpr std::uint32_t kLapsBetweenAsking = 256;  ///< for what was refused, which those who left the node may have given back
  static constexpr std::uint32_t kAsksBetweenLooks = 64;    ///< at the processes of the node, one by one

  static std::uint32_t number_of(const DepotWindow& window, std::uint32_t cell) { return (window.first + cell) % window.within; }

  /// Those into what is new, and those of the lap after these.
  static bool is_timed(const DepotWindow& window) { return window.is_new != 0 && window.handed_over < window.is_new + window.cells; }
  void note_copy(DepotWindow& window, base::Nanoseconds took) {
    if (window.handed_over < window.is_new) window.paid.note_new(took);
    else window.paid.note_used(took);
    if (window.handed_over + 1 == window.is_new + window.cells) laps_ = window.paid.laps();
  }

  /// At the end of a lap: twice as much, where there is more, and what went through it so far has paid for that.
  template <typename Access>
  bool grow(DepotWindow& window) {
    if (window.cells == memory_.cells() || window.handed_over < due<Access>(window)) return false;
    const std::uint32_t all = window.within != 0 ? std::min(most(), window.within) : most();
    const std::uint32_t wanted = std::min(std::max(2 * window.cells, kFirstCells), all);
    window.handed_over = 0;
    window.is_new = 0;
    if (wanted <= window.cells) return false;
    if (window.within == 0) {
      window.within = all;
      window.first = windows_++ * kFirstCells % all;
    }
    const std::uint32_t before = backed_;
    is_refused_ = !back(window, wanted);
    window.is_refused = is_refused_;
    if (is_refused_) return false;
    const bool is_all_new = backed_ - before == wanted - window.cells;
    window.is_new = is_all_new ? wanted - window.cells : 0;
    window.paid = {};
    window.cells = wanted;
    return true;
  }
  /// So many must have been handed over.
  template <typename Access>
  std::uint64_t due(const DepotWindow& window) const {
    if (window.is_refused != 0) return std::uint64_t{kLapsBetweenAsking} * std::max(window.cells, kFirstCells);
    if (window.cells == 0) return 0;
    const bool is_short = Access::load(memory_.cell(number_of(window, 0)).is_full, std::memory_order_relaxed) != 0;
    return std::uint64_t{laps_} * window.cells / (is_short ? kSoonerWhereShort : 1);
  }
  /// Memory for the cells of this window up to as many as wanted.
  bool back(const DepotWindow& window, std::uint32_t wanted) {
    for (std::uint32_t cell = window.cells; cell < wanted; cell += kFirstCells) {
      const std::uint32_t number = number_of(window, cell), part = std::min(kFirstCells, memory_.cells() - number);
      if (is_backed_[number / kFirstCells]) continue;
      if (!area_.back_spare(reinterpret_cast<std::byte*>(&memory_.cell(number)), part * kDepotCell)) return false;
      is_backed_[number / kFirstCells] = true;
      backed_ += part;
    }
    return true;
  }
  std::uint32_t most() const {
    const double sharers = std::max(area_.processes_per_core(), 1.0);
    const std::uint32_t part = std::max(kLeastCells, static_cast<std::uint32_t>(memory_.cells() / sharers));
    return std::min(memory_.cells(), part / kFirstCells * kFirstCells);
  }

  base::SharedArea& area_;
  Clock* now_;
  DepotMemory memory_;
  std::vector<bool> is_backed_;  ///< in parts of kFirstCells
  std::uint32_t backed_ = 0;     ///< cells that have memory
  std::uint32_t windows_ = 0;
  std::uint32_t laps_ = PaidLaps().laps();  ///< through a window that pay for as much again
  bool is_refused_ = false;  ///< was what was asked for last
  std::uint32_t most_ = 0;  ///< as last seen
  std::uint32_t asks_for_room_ = 0;
};

}  // namespace shim::transport
