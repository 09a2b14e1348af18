// SPDX-License-Identifier: BSD-3-Clause
// How two processes share the copying of one long message: the receiver reads parts of it out of the sender's memory while the sender
// writes others into the receiver's. The board says whose each part is. It lies in memory of both.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "shim/base/clock.hpp"

namespace shim::transport {

/// One cache line, for one message at a time; all zero is the state of one that nobody has used. The receiver opens it for a message,
/// under a new turn; from then on both take parts until none is left. Whoever comes later, or for an earlier message, gets none.
///
/// The sender may be anywhere meanwhile, and never come: then the receiver takes all parts. What the sender has taken it ends soon,
/// and says so: the receiver must not let its memory go before.
class CopyBoard {
 public:
  /// For the receiver: a message of so many parts. Answers its turn.
  std::uint32_t open(std::uint32_t parts, base::Nanoseconds now) {
    const std::uint32_t turn = turn_in(open_.load(std::memory_order_relaxed)) + 1;
    written_.store(word(turn, 0), std::memory_order_relaxed);
    refused_.store(word(turn, 0), std::memory_order_relaxed);
    beat(now);
    // release: whoever takes a part sees the words above; pairs with the acquire in take()
    open_.store(word(turn, parts), std::memory_order_release);
    return turn;
  }
  /// For either: parts that are nobody's yet, the last first; none where none is left. The fewer are left the fewer at a time, so that both
  /// end together.
  struct Parts {
    std::uint32_t first = 0, count = 0;
  };
  Parts take(std::uint32_t turn) {
    std::uint64_t now = open_.load(std::memory_order_acquire);  // pairs with open()
    std::uint32_t taken = 0;
    do {
      if (turn_in(now) != turn || number_in(now) == 0) return {};
      taken = std::clamp(number_in(now) / 4, 1u, kMostAtOnce);
    } while (!open_.compare_exchange_weak(now, now - taken, std::memory_order_acq_rel, std::memory_order_acquire));
    return {number_in(now) - taken, taken};
  }
  /// For the receiver: no part is to be had any more; answers how many had been nobody's.
  std::uint32_t close(std::uint32_t turn) {
    const std::uint64_t before = open_.exchange(word(turn, 0), std::memory_order_acq_rel);  // in one order with the takings
    return number_in(before);
  }

  /// For the receiver, with each part that it takes: it lives.
  void beat(base::Nanoseconds now) { beat_.store(now, std::memory_order_relaxed); }
  /// For the sender, before it takes a part: has the receiver said so a moment ago? Its process id is surely its own then, and no later
  /// process's.
  bool is_watched(base::Nanoseconds now) const {
    const base::Nanoseconds silent = now - beat_.load(std::memory_order_relaxed);
    return silent >= -kMoment && silent < kMoment;
  }

  /// For the sender: so many parts that it took are there …
  void tell_written(std::uint32_t turn, std::uint32_t parts) { add(written_, turn, parts); }
  /// … or cannot be written; it takes no more of this message.
  void tell_refused(std::uint32_t turn, std::uint32_t parts) { add(refused_, turn, parts); }
  /// For the receiver: has the sender ended all of the `taken` parts that it took?
  bool is_settled(std::uint32_t taken) const {
    // acquire: pairs with the release in add(), so that what was written is seen
    return number_in(written_.load(std::memory_order_acquire)) + number_in(refused_.load(std::memory_order_acquire)) == taken;
  }
  /// Once it is settled.
  bool was_refused() const { return number_in(refused_.load(std::memory_order_relaxed)) != 0; }

 private:
  static constexpr base::Nanoseconds kMoment = 50'000'000;
  static constexpr std::uint32_t kMostAtOnce = 16;
  using Word = std::atomic<std::uint64_t>;  ///< 63…32: the turn, 31…0: a count

  static std::uint64_t word(std::uint32_t turn, std::uint32_t count) { return std::uint64_t{turn} << 32 | count; }
  static std::uint32_t turn_in(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
  static std::uint32_t number_in(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  /// A sender that the receiver has given up for dead does not meddle with a later turn.
  static void add(Word& counted, std::uint32_t turn, std::uint32_t parts) {
    std::uint64_t now = counted.load(std::memory_order_relaxed);
    while (turn_in(now) == turn && !counted.compare_exchange_weak(now, now + parts, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }

  Word open_{0};     ///< parts that are nobody's yet
  Word written_{0};  ///< by the sender
  Word refused_{0};  ///< parts that it could not write
  std::atomic<base::Nanoseconds> beat_{0};  ///< of a clock that all processes of a node share
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(CopyBoard) == 32);

}  // namespace shim::transport
