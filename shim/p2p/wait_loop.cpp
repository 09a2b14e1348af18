// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/wait_loop.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace shim::p2p {

namespace {

// Longest sleeps: if packets wake the thread; if a source must be polled, or another thread may
// complete this thread's operation without waking it; if our own packets are queued, or another
// transfer advances only when polled.
constexpr base::Nanoseconds kMaxSleepWoken = 10'000'000, kMaxSleepPolling = 1'000'000,
                            kMaxSleepWithOutput = 100'000;
// With more threads than this asleep in the process, short sleeps become longer: hundreds of
// threads that wake every millisecond leave no time for work.
constexpr int kSleepersPerWakeup = 16;
// A packet wakes at most as many threads as there are cores: any more find nothing, and only take
// cores from the threads and processes that have work
// (docs/decisions/0030-waiting-when-oversubscribed.md).
constexpr int kMinWoken = 2;

// With more processes than cores, the awaited process may need this core.
constexpr int kOversubscribedSpin = 0, kOversubscribedYield = 2000;

/// Return the number of threads of one engine that a packet may wake.
int max_woken_threads() {
  return std::max(kMinWoken, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

WaitPlans plans_for(const base::Settings& settings) {
  return {{settings.spin, settings.yield},
          {std::min(settings.spin, kOversubscribedSpin),
           std::min(settings.yield, kOversubscribedYield), true}};
}

WaitLoop::WaitLoop(const Collaborators& collaborators, const base::Settings& settings,
                   bool is_oversubscribed)
    : collaborators_(collaborators),
      plans_(plans_for(settings)),
      is_oversubscribed_(is_oversubscribed),
      max_woken_threads_(max_woken_threads()) {}

[[gnu::always_inline]] inline WaitLoop::RoundResult WaitLoop::make_round(Guard& guard,
                                                                         bool thorough) {
  RoundResult round;
  round.is_maintenance_due = count_rounds(1);
  if (round.is_maintenance_due) [[unlikely]]
    next_maintenance_ = rounds_.load(std::memory_order_relaxed) + kRoundsPerMaintenance;
  round.moved = collaborators_.actions.progress_all(guard, thorough, round.status);
  if (!work_.empty()) work_.run(guard);
  guard.unlock();
  return round;
}

base::Result<int> WaitLoop::round(bool thorough) {
  Guard guard = collaborators_.lock.enter();
  RoundResult round = make_round(guard, thorough);
  if (round.is_maintenance_due) {
    collaborators_.actions.check_liveness();
    if (collaborators_.engines.are_several()) collaborators_.engines.poll_others(*this, false);
  }
  if (!round.status) return std::move(round.status).error();
  return round.moved;
}

int WaitLoop::poll_for_others(bool pre_sleep) {
  if (is_polled_by_others()) return 0;
  Guard guard = collaborators_.lock.try_enter();
  if (!guard.owns_lock()) return 0;
  // errors are left to the threads that use this engine: their own rounds return them, too
  const RoundResult round = make_round(guard, true);
  // excludes the round just made
  rounds_at_last_visit_.store(rounds_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (round.is_maintenance_due || pre_sleep) collaborators_.actions.check_liveness();
  if (pre_sleep) run_pre_sleep_work();
  return round.moved;
}

/// True if another thread has polled this engine since the last check, or sleeps in it; it then
/// needs no help.
bool WaitLoop::is_polled_by_others() {
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed);
  return rounds_at_last_visit_.exchange(rounds, std::memory_order_relaxed) != rounds ||
         collaborators_.lock.sleepers() != 0;
}

void WaitLoop::yield_or_sleep(Backoff& backoff, Backoff::Step step, WaitSubject& subject,
                              const transport::Sleeper::LastCheck& last_check) {
  const bool sleeps = step == Backoff::Step::sleep;
  if (collaborators_.engines.are_several() && backoff.should_poll_others() &&
      collaborators_.engines.poll_others(*this, sleeps) != 0)
    return;
  if (!sleeps) return;
  collaborators_.reporter.report_if_due(subject);
  sleep_once(backoff, last_check);
}

// Runs before this thread counts as asleep: the work may enter the engine, and would be taken for
// another thread.
void WaitLoop::run_pre_sleep_work() {
  Guard guard = collaborators_.lock.enter();
  work_.run_pre_sleep_work(guard);
}

/// Sleep in the first transport; packets of the others wake the thread if they have descriptors. No
/// descriptors are used if other threads may complete this thread's operations without waking it,
/// or several threads may sleep. A thread that is alone need not be woken by packets from its own
/// process: only it sends them, so they are queued before it sleeps.
WaitLoop::WaitSet WaitLoop::make_wait_set() {
  const bool is_alone = !collaborators_.lock.has_several_threads() &&
                        !collaborators_.engines.are_several(),
             may_skip_self = is_alone && collaborators_.transports.size() > 1;
  WaitSet wait_set;
  collaborators_.transports.for_each(
      [&](transport::Transport& each, const transport::OptionalInterfaces& interfaces) {
        if (wait_set.has_unwakeable) return;
        const bool is_self = each.reach() == transport::Reach::own_process,
                   is_first = wait_set.sleeper == nullptr;
        if (is_self && !each.is_flushed()) wait_set.has_self_packet = true;
        if (is_self && (may_skip_self || !is_first)) return;
        const int descriptor = is_first || !is_alone || interfaces.sleeper == nullptr
                                   ? -1
                                   : interfaces.sleeper->descriptor();
        if (is_first && interfaces.sleeper != nullptr) {
          wait_set.sleeper = interfaces.sleeper;
        } else if (descriptor >= 0 && wait_set.count < wait_set.descriptors.size() &&
                   wait_set.sleeper->may_wait_for_descriptors()) {
          wait_set.descriptors[wait_set.count++] = descriptor;
        } else {
          wait_set.has_unwakeable = true;
          wait_set.count = 0;
        }
      });
  return wait_set;
}

void WaitLoop::sleep_once(Backoff& backoff, const transport::Sleeper::LastCheck& last_check) {
  collaborators_.actions.check_liveness();
  run_pre_sleep_work();
  WaitSet wait_set;
  base::Nanoseconds longest = kMaxSleepWoken;
  bool packets_wake_others = false;
  std::optional<EngineLock::Asleep> asleep;
  {
    Guard guard = collaborators_.lock.enter();
    asleep.emplace(collaborators_.lock);
    wait_set = make_wait_set();
    packets_wake_others = collaborators_.lock.sleepers() > max_woken_threads_;
    if (wait_set.has_unwakeable || collaborators_.lock.has_several_threads() ||
        collaborators_.engines.are_several())
      longest = std::min(kMaxSleepWoken, kMaxSleepPolling * (1 + collaborators_.engines.sleepers() /
                                                                     kSleepersPerWakeup));
    if (!packets_wake_others &&
        (collaborators_.actions.has_own_output() || work_.needs_polling() ||
         (collaborators_.engines.are_several() && collaborators_.engines.any_needs_polling())))
      longest = kMaxSleepWithOutput;
  }
  const base::Nanoseconds duration = wait_set.has_unwakeable
                                         ? backoff.next_poll_sleep_ns(longest, base::now_ns())
                                         : backoff.next_sleep_ns(longest);
  if (wait_set.has_self_packet) {
    // no sleep: the next round handles the packet
  } else if (wait_set.sleeper != nullptr && !packets_wake_others) {
    wait_set.sleeper->sleep(
        duration, [&] { return asleep->check(last_check); },
        std::span(wait_set.descriptors.data(), wait_set.count));
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
  }
}

}  // namespace shim::p2p
