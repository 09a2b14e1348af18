// SPDX-License-Identifier: BSD-3-Clause
// Two members do the same thing together, in one of two ways: both in the same one.
#pragma once

#include <cstdint>
#include <optional>

#include "shim/base/two_ways.hpp"

namespace shim::coll {

/// Either way is fast where both take it, and slow where each takes another (docs/measurements.md, "Exchanges of two"). So one of them
/// leads: it tries both ways and chooses; the other follows, by doing as the leader was last seen to do. So they differ in the one exchange
/// in which the leader changes, which is not timed. One object at each member, for the same exchanges.
class AgreedWays {
 public:
  struct Next {
    bool is_second;
    bool is_timed;  ///< it is to be noted how long it takes
  };

  /// @param fewest, most see base::TwoWays
  AgreedWays(std::uint32_t fewest, std::uint32_t most) : ways_(fewest, most) {}

  /// How the one who leads does the next. @param worth the second, where it is more than so many times as fast
  Next lead(float worth) {
    const base::TwoWays::Next next = ways_.next(worth);
    const bool is_followed = next.is_second == is_second_;
    is_second_ = next.is_second;
    return {next.is_second, next.is_trial && is_followed};
  }
  void note(base::Nanoseconds took, std::size_t bytes) { ways_.note(took, bytes); }

  /// How the other does it.
  Next follow() const { return {is_second_, false}; }
  /// What it has seen of the leader in this one. Nothing where there was nothing to choose.
  void see(std::optional<bool> is_second) { is_second_ = is_second.value_or(is_second_); }

 private:
  base::TwoWays ways_;      ///< of the one who leads
  bool is_second_ = false;  ///< the leader did the last one so, as far as is known here
};

}  // namespace shim::coll
