// SPDX-License-Identifier: BSD-3-Clause
// When more of a process's shared memory is gone round in. Lines that were stored to long ago are stored to faster, so more of it is better;
// but each page has to be met, by who stores and by who reads, and on some machines that takes longer than a hundred copies
// (docs/measurements.md, "Pages"). So it becomes more when what went through what there is has paid for that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "shim/base/clock.hpp"

namespace shim::transport {

/// Where all that there is is full when it is come to again, a part of the laps is enough, one of so many.
inline constexpr std::uint32_t kSoonerWhereShort = 16;

/// Made of how long copies of about one length took, since the memory became more: the shortest of each kind, as any other may have been
/// interrupted. What it took to put pages in place before is not counted.
class PaidLaps {
 public:
  void note_new(base::Nanoseconds copy) { into_new_ = std::min(into_new_, copy); }
  void note_used(base::Nanoseconds copy) { into_used_ = std::min(into_used_, copy); }
  /// So many, through what there is, pay for as much again. Nobody knows it before there were copies of both kinds: the fewest then.
  std::uint32_t laps() const {
    if (into_new_ == kNone || into_used_ == kNone) return kFewest;
    const base::Nanoseconds one = std::max<base::Nanoseconds>(into_used_, 1);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(kCopiesForEach * (into_new_ - one) / one, kFewest, kMost));
  }

 private:
  static constexpr base::Nanoseconds kNone = std::numeric_limits<base::Nanoseconds>::max();
  static constexpr std::uint32_t kFewest = 7;  ///< whatever it costs
  static constexpr std::uint32_t kMost = 1024;
  /// A quarter of the time it may take: once at who stores, and once more at who reads.
  static constexpr std::int64_t kCopiesForEach = 4 * 2;

  base::Nanoseconds into_new_ = kNone, into_used_ = kNone;
};

}  // namespace shim::transport
