// SPDX-License-Identifier: BSD-3-Clause
// AgreedWays is a choice between two implementations that two members agree on.
#pragma once

#include <cstdint>
#include <optional>

#include "shim/base/adaptive_choice.hpp"

namespace shim::coll {

/// An exchange is fast if both members use the same implementation, and slow if they use different
/// ones (docs/decisions/0041-exchanges-of-two.md). So one member leads: it times both and chooses;
/// the other member, the follower, repeats the last choice of the leader that it has seen. So the
/// members differ only in an exchange in which the leader changes its choice; this exchange is not
/// timed. Each member has one object per kind of exchange.
class AgreedWays {
 public:
  struct Next {
    bool is_second;
    bool is_timed;  ///< the caller must time the exchange and record it
  };

  /// @param fewest, most min_interval and max_interval of base::AdaptiveChoice
  AgreedWays(std::uint32_t fewest, std::uint32_t most) : ways_(fewest, most) {}

  /// Return the leader's next choice.
  /// @param worth speedup above which the second implementation is chosen
  Next lead(float worth) {
    const base::AdaptiveChoice::Next next = ways_.next(worth);
    const bool is_followed = next.is_second == is_second_;
    is_second_ = next.is_second;
    return {next.is_second, next.is_trial && is_followed};
  }
  /// Record the time of an exchange that lead() asked to time.
  void note(base::Nanoseconds took, std::size_t bytes) { ways_.record(took, bytes); }

  /// Return the follower's next choice.
  Next follow() const { return {is_second_, false}; }
  /// Record, as the follower, the leader's choice in this exchange; nullopt if the leader's data
  /// was short enough for the segment, so that there was no choice.
  void see(std::optional<bool> is_second) { is_second_ = is_second.value_or(is_second_); }

 private:
  base::AdaptiveChoice ways_;  ///< used by the leader
  bool is_second_ = false;     ///< the leader's last choice known here
};

}  // namespace shim::coll
