// SPDX-License-Identifier: BSD-3-Clause
// Time: monotonic, in nanoseconds; and a deadline, so that every wait has an end.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace shim::base {

using Nanoseconds = std::int64_t;

/// Monotonic clock, nanoseconds since an arbitrary start.
inline Nanoseconds now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A point in time after which a wait gives up; never() for the waits a user may make last for ever.
class Deadline {
 public:
  static Deadline never() { return Deadline(std::numeric_limits<Nanoseconds>::max()); }
  static Deadline after_seconds(double seconds) { return Deadline(now_ns() + static_cast<Nanoseconds>(seconds * 1e9)); }
  /// Zero or less means never, as in the settings.
  static Deadline from_setting(double seconds) { return seconds > 0 ? after_seconds(seconds) : never(); }

  bool passed() const { return at_ != std::numeric_limits<Nanoseconds>::max() && now_ns() >= at_; }

 private:
  explicit Deadline(Nanoseconds at) : at_(at) {}
  Nanoseconds at_;
};

}  // namespace shim::base
