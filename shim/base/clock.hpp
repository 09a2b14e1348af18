// SPDX-License-Identifier: BSD-3-Clause
// Monotonic time in nanoseconds, and deadlines for waits.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace shim::base {

using Nanoseconds = std::int64_t;

/// Return the monotonic time in nanoseconds since an arbitrary start.
inline Nanoseconds now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Return now_ns() as of the kernel's last timer tick: up to some milliseconds earlier, at a
/// fraction of the cost.
inline Nanoseconds coarse_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Point in time at which a wait ends without success; never() for waits that the user may leave
/// unlimited.
class Deadline {
 public:
  static Deadline never() { return Deadline(std::numeric_limits<Nanoseconds>::max()); }
  static Deadline after_seconds(double seconds) {
    return Deadline(now_ns() + static_cast<Nanoseconds>(seconds * 1e9));
  }
  /// Return the deadline of a timeout setting: never() for zero or less, else after that many
  /// seconds.
  static Deadline from_setting(double seconds) {
    return seconds > 0 ? after_seconds(seconds) : never();
  }

  /// Return the time left for poll(2), in milliseconds, rounded up: 0 once passed, -1 for never().
  int poll_timeout() const {
    if (at_ == std::numeric_limits<Nanoseconds>::max()) return -1;
    const Nanoseconds left = (at_ - now_ns() + 999'999) / 1'000'000;
    return static_cast<int>(std::clamp<Nanoseconds>(left, 0, std::numeric_limits<int>::max()));
  }
  bool passed() const { return at_ != std::numeric_limits<Nanoseconds>::max() && now_ns() >= at_; }

 private:
  explicit Deadline(Nanoseconds at) : at_(at) {}
  Nanoseconds at_;
};

}  // namespace shim::base
