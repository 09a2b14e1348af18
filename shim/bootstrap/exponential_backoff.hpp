// SPDX-License-Identifier: BSD-3-Clause
// Computes the exponential back-off between repeated requests.
#pragma once

#include <algorithm>

#include "shim/base/clock.hpp"

namespace shim::bootstrap {

/// Limits for requests to a launcher: 0.2 ms and 50 ms.
inline constexpr base::Nanoseconds kMinBackoff = 200'000, kMaxBackoff = 50'000'000;

/// Return the pause before the next request: a quarter of the elapsed time, so that the last pause
/// adds little to the total wait, and a thousand waiting processes do not overload the server.
inline base::Nanoseconds exponential_backoff(base::Nanoseconds elapsed,
                                             base::Nanoseconds min_backoff = kMinBackoff,
                                             base::Nanoseconds max_backoff = kMaxBackoff) {
  return std::clamp(elapsed / 4, min_backoff, max_backoff);
}

}  // namespace shim::bootstrap
