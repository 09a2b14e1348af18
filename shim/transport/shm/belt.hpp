// SPDX-License-Identifier: BSD-3-Clause
// A belt: what is too long for a member's part of a board, and is for all members, is laid here by one of them piece by piece, and each of
// the others takes it off for itself. Copied twice, but without the kernel, which pins the pages of whoever is read: many readers at a time
// wait for each other there. And the one who lays need not wait for those who take, as far as the belt reaches.
//
// Members use it one after the other. Who begins says from where it lays; who did not take what was laid before goes on from there.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/transport/shm/ring.hpp"

namespace shim::transport {

/// Long enough that the words of a piece do not count, and short enough that others take a piece while the next is laid.
inline constexpr std::size_t kBeltPiece = 16 * 1024;
/// As much as a core's own caches, so that what is laid has left those of who took it last (depot.hpp).
inline constexpr std::size_t kBeltBytes = 64 * kBeltPiece;

inline constexpr int kBoardMembers = 16;  ///< most of one board
inline constexpr int kBelts = 2;          ///< of each board, so that two can give to each other at the same time

/// Counts bytes since the board is new. All of it zero is a belt that nobody has used.
struct BeltWords {
  struct alignas(kLine) Word {
    std::atomic<std::uint64_t> bytes;
  };
  Word laid;                              ///< up to here it can be taken
  std::array<Word, kBoardMembers> taken;  ///< by rank: up to here this member needs nothing more

  // Relaxed: whoever is told of the board later is told by a message.
  void make_new() {
    laid.bytes.store(0, std::memory_order_relaxed);
    for (Word& word : taken) word.bytes.store(0, std::memory_order_relaxed);
  }
};

/// What one member has laid, or is laying.
struct OnBelt {
  std::uint64_t begin, length;
  std::uint32_t belt;  ///< which of its board
};

/// A member's view. One thread at a time.
class Belt {
 public:
  /// @param memory kBeltBytes of it
  Belt(BeltWords& words, std::byte* memory, int rank) : words_(words), memory_(memory), rank_(static_cast<std::size_t>(rank)) {}

  std::byte* memory() const { return memory_; }
  /// For who is about to lay: where it begins, which is a line of its own.
  std::uint64_t begin_to_lay() {
    // relaxed: what was laid last this member has laid, or taken
    return position_ = (words_.laid.bytes.load(std::memory_order_relaxed) + kLine - 1) / kLine * kLine;
  }
  /// For who is about to take.
  void begin_to_take(std::uint64_t position) {
    position_ = position;
    say_taken();
  }

  /// How much of what is left is the next piece: the same for who lays and who takes.
  std::size_t piece_of(std::uint64_t left) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>({left, kBeltPiece, kBeltBytes - position_ % kBeltBytes}));
  }
  /// Where it lies.
  std::byte* place() const { return memory_ + position_ % kBeltBytes; }
  /// Copies a piece there that lies in one run of bytes.
  void copy_in(const std::byte* from, std::size_t piece, base::Traffic traffic) { copy_(place(), from, piece, traffic); }

  /// Does that member need nothing more of where this piece is to lie?
  bool has_room(std::size_t piece, int rank) const {
    // acquire: pairs with the store in say_taken
    return position_ + piece <= words_.taken[static_cast<std::size_t>(rank)].bytes.load(std::memory_order_acquire) + kBeltBytes;
  }
  /// The piece is in its place. The store is a full barrier, for whoever sleeps (wake.hpp).
  void lay(std::size_t piece) {
    position_ += piece;
    words_.laid.bytes.store(position_, std::memory_order_seq_cst);  // pairs with the acquire in has
  }
  bool has(std::size_t piece) const { return words_.laid.bytes.load(std::memory_order_acquire) >= position_ + piece; }
  /// The piece is copied.
  void take(std::size_t piece) {
    position_ += piece;
    say_taken();
  }
  /// For who has laid: it needs nothing of what it laid itself.
  void end_laying() { say_taken(); }

 private:
  // Likewise a full barrier.
  void say_taken() { words_.taken[rank_].bytes.store(position_, std::memory_order_seq_cst); }

  BeltWords& words_;
  std::byte* memory_;
  std::size_t rank_;
  std::uint64_t position_ = 0;
  base::CopyForOtherCore copy_;
};

}  // namespace shim::transport
