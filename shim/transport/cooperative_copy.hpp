// SPDX-License-Identifier: BSD-3-Clause
// CooperativeCopy divides the copying of one long message between its two processes. The receiver
// reads parts from the sender's memory while the sender writes other parts into the receiver's. The
// descriptor is in shared memory and assigns each part to one process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "shim/base/clock.hpp"

namespace shim::transport {

/// Work-sharing descriptor in one cache line, for one message at a time; zero-initialized.
///
/// The receiver opens it for a message, under a new generation. From then on both processes claim
/// parts until none is left. A claim with the generation of an earlier message returns no parts.
///
/// If the sender never joins, the receiver claims all parts. The sender completes its claimed parts
/// soon and reports them: the receiver must not release its buffer before.
class CooperativeCopy {
 public:
  /// Receiver: begin a message of this many parts; return its generation.
  std::uint32_t open(std::uint32_t parts, base::Nanoseconds now) {
    const std::uint32_t generation = generation_in(unclaimed_.load(std::memory_order_relaxed)) + 1;
    written_parts_.store(word(generation, 0), std::memory_order_relaxed);
    refused_parts_.store(word(generation, 0), std::memory_order_relaxed);
    heartbeat(now);
    // release: a claimer sees the words above; pairs with the acquire in claim()
    unclaimed_.store(word(generation, parts), std::memory_order_release);
    return generation;
  }
  /// Both: claim unassigned parts, last first; count is 0 if none is left. Claims shrink with the
  /// number of parts left, so that both processes finish together.
  struct ClaimedParts {
    std::uint32_t first = 0, count = 0;
  };
  ClaimedParts claim(std::uint32_t generation) {
    std::uint64_t now = unclaimed_.load(std::memory_order_acquire);  // pairs with open()
    std::uint32_t taken = 0;
    do {
      if (generation_in(now) != generation || number_in(now) == 0) return {};
      taken = std::clamp(number_in(now) / 4, 1u, kMaxPartsPerClaim);
    } while (!unclaimed_.compare_exchange_weak(now, now - taken, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
    return {number_in(now) - taken, taken};
  }
  /// Receiver: end claiming; return the number of parts that were unclaimed.
  std::uint32_t close(std::uint32_t generation) {
    const std::uint64_t before = unclaimed_.exchange(
        word(generation, 0), std::memory_order_acq_rel);  // one total order with the claims
    return number_in(before);
  }

  /// Receiver, with each part that it claims: record that it is alive.
  void heartbeat(base::Nanoseconds now) { heartbeat_.store(now, std::memory_order_relaxed); }
  /// Sender, before it claims a part: true if the receiver's last heartbeat is recent. Its process
  /// id then cannot have been reused by a later process.
  bool has_recent_heartbeat(base::Nanoseconds now) const {
    const base::Nanoseconds silent = now - heartbeat_.load(std::memory_order_relaxed);
    return silent >= -kHeartbeatTimeout && silent < kHeartbeatTimeout;
  }

  /// Sender: this many claimed parts have been written …
  void report_written(std::uint32_t generation, std::uint32_t parts) {
    add(written_parts_, generation, parts);
  }
  /// … or cannot be written; the sender claims no more parts of this message.
  void report_refused(std::uint32_t generation, std::uint32_t parts) {
    add(refused_parts_, generation, parts);
  }
  /// Receiver: true if the sender has finished all `taken` parts that it claimed.
  bool is_complete(std::uint32_t taken) const {
    // acquire: pairs with the release in add(), so that the written data is visible
    return number_in(written_parts_.load(std::memory_order_acquire)) +
               number_in(refused_parts_.load(std::memory_order_acquire)) ==
           taken;
  }
  /// Valid once is_complete().
  bool was_refused() const {
    return number_in(refused_parts_.load(std::memory_order_relaxed)) != 0;
  }

 private:
  /// 50 ms, in which no system reuses all process ids.
  static constexpr base::Nanoseconds kHeartbeatTimeout = 50'000'000;
  static constexpr std::uint32_t kMaxPartsPerClaim = 16;
  using Word = std::atomic<std::uint64_t>;  ///< bits 63…32: generation, 31…0: count

  static std::uint64_t word(std::uint32_t generation, std::uint32_t count) {
    return std::uint64_t{generation} << 32 | count;
  }
  static std::uint32_t generation_in(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static std::uint32_t number_in(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  /// Count only in this generation: a sender that the receiver took for dead must not change a
  /// later one.
  static void add(Word& counted, std::uint32_t generation, std::uint32_t parts) {
    std::uint64_t now = counted.load(std::memory_order_relaxed);
    while (generation_in(now) == generation &&
           !counted.compare_exchange_weak(now, now + parts, std::memory_order_release,
                                          std::memory_order_relaxed)) {
    }
  }

  Word unclaimed_{0};                            ///< parts
  Word written_parts_{0};                        ///< by the sender
  Word refused_parts_{0};                        ///< parts that the sender could not write
  std::atomic<base::Nanoseconds> heartbeat_{0};  ///< of a clock that is common to the node
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(CooperativeCopy) == 32);

}  // namespace shim::transport
