// SPDX-License-Identifier: BSD-3-Clause
// EndedBases is the set of context id bases that have no context and never will.
#pragma once

#include <cstdint>
#include <mutex>

#include "shim/base/lock.hpp"
#include "shim/p2p/number_ranges.hpp"

namespace shim::p2p {

/// Shared by the engines of a process, which draw bases from one sequence: in a set per engine the
/// other engines' bases would leave gaps and keep ranges apart forever. Thread-safe.
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
  /// Return the number of ranges, which the memory grows with.
  std::size_t ranges() const {
    std::lock_guard guard(lock_);
    return ranges_.ranges();
  }

 private:
  mutable base::Lock lock_;  ///< guards ranges_
  NumberRanges ranges_;
};

}  // namespace shim::p2p
