// SPDX-License-Identifier: BSD-3-Clause
// How a waiting thread spends its time: polling, then giving its core away for a moment at a time, then sleeping.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "shim/base/clock.hpp"
#include "shim/base/settings.hpp"

namespace shim::p2p {

struct WaitPlan {
  int spin = 0;   ///< polls before yielding
  int yield = 0;  ///< yields before sleeping
  bool weighs_yields = false;  ///< sleeps sooner where they do not bring the one waited for to a core
};

/// The settings' plan, and a shorter one for where processes outnumber cores: whoever polls then keeps the one it waits for from
/// running.
struct WaitPlans {
  WaitPlan with_cores_free, crowded;
};
WaitPlans plans_for(const base::Settings& settings);

class Backoff {
 public:
  enum class Step { spin, yield, sleep };

  explicit Backoff(const WaitPlan& plan) : plan_(plan), spins_(plan.spin), yields_(plan.yield) {}

  /// Nothing has come: what next. Yields itself; the sleep is the caller's.
  Step step() {
    if (spins_ > 0) {
      --spins_;
      return Step::spin;
    }
    if (patient_since_ == 0) [[likely]] {
      patient_since_ = base::now_ns();
      if (yields_ > 0) return yield();
    } else if (plan_.weighs_yields && yields_ == plan_.yield - 1) {
      weigh_first();
    }
    if (yields_ == 0) return Step::sleep;
    return plan_.weighs_yields ? yield_and_weigh() : yield();
  }
  /// So many packets have come, and more are waited for.
  void restart(int packets) {
    const int trickles = packets <= kFewPackets ? trickles_ + 1 : 0;
    const bool has_slept = plan_.weighs_yields && patient_since_ != 0 && yields_ == 0;
    *this = Backoff(plan_);
    trickles_ = trickles;
    if (has_slept) [[unlikely]] yields_ = std::min(yields_, kYieldsAfterSleep);  // the packets may be other threads'
    if (gives_lead()) [[unlikely]] give_lead();
  }
  /// They have come one by one, or few at a time: their sender is as fast as we are, and who looks for each just when it is written takes
  /// its line of the cache from the writer each time, which costs both more than the message. Not where the core may be another's meanwhile.
  bool gives_lead() const { return trickles_ > kFewTrickles && plan_.spin > 0; }
  /// Past the stage in which each round counts.
  bool is_patient() const { return spins_ <= 0; }
  /// Seldom enough that others' rounds do not delay the own ones much; always before a sleep.
  bool is_time_for_others() const { return yields_ % kYieldsPerLook == 0; }
  /// The next nap, where what is waited for ends it: longer each time, up to the limit.
  base::Nanoseconds nap_ns(base::Nanoseconds longest) {
    base::Nanoseconds nap = std::min(nap_, longest);
    nap_ = std::min(2 * nap_, base::Nanoseconds{100'000'000});
    return nap;
  }
  /// The next nap, where nothing ends it: a small part of what has been waited already, so that the wait becomes longer by no more. Not so where
  /// others want the core, who would be interrupted all the time.
  base::Nanoseconds blind_nap_ns(base::Nanoseconds longest, base::Nanoseconds now) {
    if (plan_.weighs_yields) return nap_ns(longest);
    return std::clamp((now - patient_since_) / kPartOfWait, std::min(kLeastNap, longest), longest);
  }

 private:
  // A yield this short has yielded to nobody: nobody else can run, or only processes of other scheduling groups (mpiexec.hydra makes
  // each of its processes one, sched_autogroup_enabled). After one this long somebody has used up a time slice, who is no message's
  // sender; a sleeper is woken sooner than a yielder has its turn again (docs/measurements.md).
  static constexpr base::Nanoseconds kToNobody = 1'000, kTimeSlice = 200'000;
  static constexpr int kToNobodyInARow = 16;
  // Longest time of yields in vain. In a process of many waiting threads each yields to the others, which wait as well, and keeps
  // the core from the processes that they all wait for if these are in other scheduling groups (docs/measurements.md, "Many threads").
  static constexpr base::Nanoseconds kInVain = kTimeSlice;
  static constexpr int kYieldsAfterSleep = 4;

  static constexpr int kYieldsPerLook = 16;
  static constexpr int kFewPackets = 4, kFewTrickles = 4;
  static constexpr base::Nanoseconds kLead = 300;  ///< some ten messages
  static constexpr base::Nanoseconds kLeastNap = 50'000;  ///< as late as the system's timers are anyway
  static constexpr int kPartOfWait = 16;

  static void give_lead() {
    const base::Nanoseconds until = base::now_ns() + kLead;
    while (base::now_ns() < until) __builtin_ia32_pause();
  }

  Step yield() {
    --yields_;
    sched_yield();
    return Step::yield;
  }
  Step yield_and_weigh() {
    const base::Nanoseconds before = base::now_ns();
    yield();
    const base::Nanoseconds after = base::now_ns(), took = after - before;
    to_nobody_ = took < kToNobody ? to_nobody_ + 1 : 0;
    if (took > kTimeSlice || to_nobody_ == kToNobodyInARow || after - patient_since_ > kInVain) yields_ = 0;
    return Step::yield;
  }
  /// Only where it was in vain: mostly it brings the one waited for to a core, and two looks at the clock are a part of a short message.
  void weigh_first() {
    if (base::now_ns() - patient_since_ > kTimeSlice) yields_ = 0;
  }

  WaitPlan plan_;
  int spins_, yields_;
  int to_nobody_ = 0;
  int trickles_ = 0;  ///< times in a row that few packets have come
  base::Nanoseconds nap_ = kLeastNap;
  base::Nanoseconds patient_since_ = 0;  ///< by the clock; 0: not yet
};

}  // namespace shim::p2p
