// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/adaptive_choice.hpp"

#include <algorithm>

namespace shim::base {
namespace {

/// Trials alternate between the implementations. Only the fastest trial of each counts: a slower
/// trial was interrupted, or found the cache lines in the state in which the other implementation
/// left them.
constexpr std::uint32_t kTrialsPerComparison = 4;
/// Two comparisons have the same result if their speedups differ by less than this factor.
constexpr float kSameWithin = 1.5;

}  // namespace

void AdaptiveChoice::record(Nanoseconds took, std::size_t length) {
  float& fastest = fastest_[trials_ % 2];
  const float pace = static_cast<float>(std::max<Nanoseconds>(took, 1)) /
                     static_cast<float>(length);
  fastest = trials_ < 2 ? pace : std::min(fastest, pace);
  if (++trials_ == kTrialsPerComparison) compare();
}

void AdaptiveChoice::compare() {
  const float speedup = fastest_[0] / fastest_[1];
  const bool is_as_before = speedup < kSameWithin * speedup_ && speedup_ < kSameWithin * speedup;
  interval_ = is_as_before ? std::min(4 * interval_, max_interval_) : min_interval_;
  speedup_ = speedup;
  until_trial_ = interval_;
  trials_ = 0;
}

}  // namespace shim::base
