// SPDX-License-Identifier: BSD-3-Clause
// PaidLaps decides when a process's partition of a cell pool grows.
//
// Stores to lines last used long ago are faster, so a larger partition is better; but sender and
// receiver must fault in each new page, which on some machines takes longer than a hundred copies
// (docs/decisions/0047-prefault-and-growth.md). So a partition grows once the traffic through its
// current size has paid for the page faults.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "shim/base/clock.hpp"

namespace shim::transport {

/// Divisor of the laps if a partition wraps around and its first cell is still full.
inline constexpr std::uint32_t kSoonerWhereShort = 16;

/// Computed from the copy times of packets of similar length since the last growth. Uses the
/// minimum of each kind, because any other copy may have been interrupted. Earlier prefaulting is
/// not counted.
class PaidLaps {
 public:
  void record_fresh_copy(base::Nanoseconds copy) { into_new_ = std::min(into_new_, copy); }
  void record_warm_copy(base::Nanoseconds copy) { into_used_ = std::min(into_used_, copy); }
  /// Return how many laps through the partition pay for doubling it; the minimum as long as copies
  /// of one kind are missing.
  std::uint32_t laps() const {
    if (into_new_ == kNone || into_used_ == kNone) return kFewest;
    const base::Nanoseconds one = std::max<base::Nanoseconds>(into_used_, 1);
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(kCopiesForEach * (into_new_ - one) / one, kFewest, kMost));
  }

 private:
  static constexpr base::Nanoseconds kNone = std::numeric_limits<base::Nanoseconds>::max();
  static constexpr std::uint32_t kFewest = 7;  ///< however cheap the page faults are
  static constexpr std::uint32_t kMost = 1024;
  /// Laps for each copy time that a page fault takes: page faults may take a quarter of the copy
  /// time (4), and occur at the sender and at the receiver (2).
  static constexpr std::int64_t kCopiesForEach = 4 * 2;

  base::Nanoseconds into_new_ = kNone, into_used_ = kNone;
};

}  // namespace shim::transport
