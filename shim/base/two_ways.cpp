// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/two_ways.hpp"

#include <algorithm>

namespace shim::base {
namespace {

/// One after the other. Of each way the fastest counts: a slower one was interrupted, or found what the other way had left behind.
constexpr std::uint32_t kTrials = 4;
/// Two comparisons have found the same where they differ by no more than this.
constexpr float kAlike = 1.5;

}  // namespace

void TwoWays::note(Nanoseconds took, std::size_t length) {
  float& fastest = fastest_[tried_ % 2];
  const float pace = static_cast<float>(std::max<Nanoseconds>(took, 1)) / static_cast<float>(length);
  fastest = tried_ < 2 ? pace : std::min(fastest, pace);
  if (++tried_ == kTrials) compare();
}

void TwoWays::compare() {
  const float gain = fastest_[0] / fastest_[1];
  const bool is_as_before = gain < kAlike * gain_ && gain_ < kAlike * gain;
  between_ = is_as_before ? std::min(4 * between_, most_) : fewest_;
  gain_ = gain;
  left_ = between_;
  tried_ = 0;
}

}  // namespace shim::base
