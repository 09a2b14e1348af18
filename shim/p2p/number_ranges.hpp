// SPDX-License-Identifier: BSD-3-Clause
// NumberRanges is a set of numbers, stored as ranges of consecutive ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace shim::p2p {

/// Memory grows with the number of ranges, not of numbers.
class NumberRanges {
 public:
  void add(std::uint32_t number) {
    if (contains(number)) return;
    std::uint32_t first = number, last = number;
    auto after = ranges_.upper_bound(number);
    if (after != ranges_.end() && after->first - 1 == number) {
      last = after->second;
      after = ranges_.erase(after);
    }
    if (after != ranges_.begin() && std::prev(after)->second + 1 == number)
      first = std::prev(after)->first;
    ranges_[first] = last;
  }

  bool contains(std::uint32_t number) const {
    auto after = ranges_.upper_bound(number);
    return after != ranges_.begin() && std::prev(after)->second >= number;
  }

  std::size_t ranges() const { return ranges_.size(); }

 private:
  std::map<std::uint32_t, std::uint32_t> ranges_;  ///< first → last
};

}  // namespace shim::p2p
