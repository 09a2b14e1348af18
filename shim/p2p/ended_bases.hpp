// SPDX-License-Identifier: BSD-3-Clause
// Bases of context ids of which there is no context any more, and will be none.
#pragma once

#include <cstdint>
#include <mutex>

#include "shim/base/lock.hpp"
#include "shim/p2p/number_ranges.hpp"

namespace shim::p2p {

/// Common to the engines of a process, which take their bases from one sequence: in each engine's own set those of the others would be
/// holes, and keep ranges apart for ever. From any thread.
class EndedBases {
 public:
  void add(std::uint32_t base) {
    std::lock_guard guard(lock_);
    ranges_.add(base);
  }
  bool contains(std::uint32_t base) const {
    std::lock_guard guard(lock_);
    return ranges_.contains(base);
  }
  /// How many rows of numbers there are: what the memory for them grows with.
  std::size_t ranges() const {
    std::lock_guard guard(lock_);
    return ranges_.ranges();
  }

 private:
  mutable base::Lock lock_;  ///< guards ranges_
  NumberRanges ranges_;
};

}  // namespace shim::p2p
