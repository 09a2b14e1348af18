// SPDX-License-Identifier: BSD-3-Clause
// Backoff decides how a waiting thread polls, yields its core, or sleeps.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "shim/base/clock.hpp"
#include "shim/base/settings.hpp"
#include "shim/base/spin_pause.hpp"

namespace shim::p2p {

struct WaitPlan {
  int spin = 0;   ///< polls before yielding
  int yield = 0;  ///< yields before sleeping
  /// true: sleep sooner if yields do not let the awaited process run
  bool measures_yields = false;
};

/// The plan of the settings, and a shorter one for processes that outnumber cores: there a polling
/// thread keeps the awaited process from running.
struct WaitPlans {
  WaitPlan undersubscribed, oversubscribed;
};
WaitPlans plans_for(const base::Settings& settings);

class Backoff {
 public:
  enum class Step { spin, yield, sleep };

  explicit Backoff(const WaitPlan& plan) : plan_(plan), spins_(plan.spin), yields_(plan.yield) {}

  /// Choose the next step after a poll without packets. Yields itself; the caller sleeps.
  Step step() {
    if (spins_ > 0) {
      --spins_;
      return Step::spin;
    }
    if (yielding_since_ == 0) [[likely]] {
      yielding_since_ = base::now_ns();
      if (yields_ > 0) return yield();
    } else if (plan_.measures_yields && yields_ == plan_.yield - 1) {
      check_first_yield();
    }
    if (yields_ == 0) return Step::sleep;
    return plan_.measures_yields ? yield_and_measure() : yield();
  }
  /// Start again after `packets` packets have arrived, if the caller waits for more.
  void restart(int packets) {
    const int small_batches = packets <= kSmallBatch ? small_batches_ + 1 : 0;
    const bool has_slept = plan_.measures_yields && yielding_since_ != 0 && yields_ == 0;
    *this = Backoff(plan_);
    small_batches_ = small_batches;
    if (has_slept) [[unlikely]]
      yields_ = std::min(yields_, kYieldsAfterSleep);  // the packets may be other threads'
    if (should_lag()) [[unlikely]]
      lag_behind_sender();
  }
  /// True if packets have arrived one by one or few at a time. Then the sender is as fast as the
  /// receiver, and polling at the moment of each write moves the cache line to and fro, which costs
  /// both more than the message. False if another process may need the core meanwhile.
  bool should_lag() const { return small_batches_ > kMinSmallBatches && plan_.spin > 0; }
  /// True after the stage in which the length of each round matters.
  bool is_past_spinning() const { return spins_ <= 0; }
  /// True seldom enough that polling other engines costs little; always before a sleep.
  bool should_poll_others() const { return yields_ % kYieldsPerLook == 0; }
  /// Return the next sleep if packets end it: doubled each time, up to the limit.
  base::Nanoseconds next_sleep_ns(base::Nanoseconds longest) {
    base::Nanoseconds duration = std::min(sleep_ns_, longest);
    sleep_ns_ = std::min(2 * sleep_ns_, base::Nanoseconds{100'000'000});
    return duration;
  }
  /// Return the next sleep if nothing ends it: a small fraction of the wait so far, which bounds
  /// the delay. If other processes want the core, sleep as in next_sleep_ns(), because frequent
  /// wake-ups would interrupt them.
  base::Nanoseconds next_poll_sleep_ns(base::Nanoseconds longest, base::Nanoseconds now) {
    if (plan_.measures_yields) return next_sleep_ns(longest);
    return std::clamp((now - yielding_since_) / kSleepFraction, std::min(kMinSleep, longest),
                      longest);
  }

 private:
  // After a yield shorter than kIdleYield no other process has run: none can, or only processes of
  // other scheduling groups (mpiexec.hydra gives each process its own, sched_autogroup_enabled).
  // After one longer than kTimeSlice another process has used up a time slice, and is no message's
  // sender; a sleeper is woken sooner than a yielding thread is scheduled again
  // (docs/decisions/0030-waiting-when-oversubscribed.md).
  static constexpr base::Nanoseconds kIdleYield = 1'000, kTimeSlice = 200'000;
  static constexpr int kMaxIdleYields = 16;
  // Longest time of yields without packets. Many waiting threads of a process yield to each other,
  // and keep the core from the awaited processes if these are in other scheduling groups
  // (docs/decisions/0030-waiting-when-oversubscribed.md).
  static constexpr base::Nanoseconds kMaxYieldTime = kTimeSlice;
  static constexpr int kYieldsAfterSleep = 4;

  static constexpr int kYieldsPerLook = 16;
  static constexpr int kSmallBatch = 4, kMinSmallBatches = 4;
  static constexpr base::Nanoseconds kSenderLag = 300;  ///< about ten messages
  /// a shorter sleep ends no earlier: the kernel delays timers by as much
  static constexpr base::Nanoseconds kMinSleep = 50'000;
  static constexpr int kSleepFraction = 16;

  static void lag_behind_sender() {
    const base::Nanoseconds until = base::now_ns() + kSenderLag;
    while (base::now_ns() < until) base::spin_pause();
  }

  Step yield() {
    --yields_;
    sched_yield();
    return Step::yield;
  }
  Step yield_and_measure() {
    const base::Nanoseconds before = base::now_ns();
    yield();
    const base::Nanoseconds after = base::now_ns(), took = after - before;
    idle_yields_ = took < kIdleYield ? idle_yields_ + 1 : 0;
    if (took > kTimeSlice || idle_yields_ == kMaxIdleYields ||
        after - yielding_since_ > kMaxYieldTime)
      yields_ = 0;
    return Step::yield;
  }
  /// Check only a yield that brought no packets: most let the awaited process run, and two clock
  /// reads are a noticeable part of a short message's time.
  void check_first_yield() {
    if (base::now_ns() - yielding_since_ > kTimeSlice) yields_ = 0;
  }

  WaitPlan plan_;
  int spins_, yields_;
  int idle_yields_ = 0;
  int small_batches_ = 0;  ///< consecutive small batches of packets
  base::Nanoseconds sleep_ns_ = kMinSleep;
  base::Nanoseconds yielding_since_ = 0;  ///< time of the first yield; 0: none yet
};

}  // namespace shim::p2p
