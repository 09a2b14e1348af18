// SPDX-License-Identifier: BSD-3-Clause
// When to ask again for what is not there yet.
#pragma once

#include <algorithm>

#include "shim/base/clock.hpp"

namespace shim::bootstrap {

/// Of questions to a launcher.
inline constexpr base::Nanoseconds kShortestPause = 200'000, kLongestPause = 50'000'000;

/// A search that has waited long may wait a little longer: a quarter of the time that has passed since it began, so that the last pause
/// costs little beside the whole, and a thousand waiting processes do not keep those busy whom they ask.
inline base::Nanoseconds growing_pause(base::Nanoseconds passed, base::Nanoseconds shortest = kShortestPause,
                                       base::Nanoseconds longest = kLongestPause) {
  return std::clamp(passed / 4, shortest, longest);
}

}  // namespace shim::bootstrap
