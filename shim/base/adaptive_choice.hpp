// SPDX-License-Identifier: BSD-3-Clause
// AdaptiveChoice chooses the faster of two implementations at run time. For choices that depend on
// properties of the hardware that a process cannot query, and that may change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/base/clock.hpp"

namespace shim::base {

/// Compares the implementations from time to time, by two timed calls (trials) of each; less often
/// while the result stays the same. Uses the first implementation until the first comparison.
class AdaptiveChoice {
 public:
  struct Next {
    bool is_second;
    bool is_trial;  ///< the caller times this call and passes the time to record()
  };

  /// @param min_interval calls before the first comparison, and before the next comparison if the
  /// result has changed
  /// @param max_interval largest number of calls between two comparisons
  AdaptiveChoice(std::uint32_t min_interval, std::uint32_t max_interval)
      : until_trial_(min_interval),
        interval_(min_interval),
        min_interval_(min_interval),
        max_interval_(max_interval) {}

  /// Return the implementation for the next call.
  /// @param min_speedup use the second if it is more than this many times as fast as the first
  Next next(float min_speedup) {
    if (until_trial_ == 0) [[unlikely]]
      return {trials_ % 2 != 0, true};
    --until_trial_;
    return {speedup_ > min_speedup, false};
  }
  /// True if next() would return the first without a trial. Does not count as a call.
  bool would_use_first(float min_speedup) const {
    return until_trial_ != 0 && speedup_ <= min_speedup;
  }
  /// Record the time of a trial that processed `length` bytes.
  void record(Nanoseconds took, std::size_t length);

 private:
  void compare();

  std::uint32_t until_trial_, interval_, min_interval_, max_interval_;
  std::uint32_t trials_ = 0;
  float speedup_ = 0;               ///< speed of the second relative to the first
  std::array<float, 2> fastest_{};  ///< by implementation: ns per byte
};

}  // namespace shim::base
