// SPDX-License-Identifier: BSD-3-Clause
// Implements progress rounds and waiting.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "shim/p2p/core.hpp"

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

// A receiver that always finds its message never enters the wait loop; make a full round after this
// many polls so that other work progresses.
constexpr unsigned kQuickPollsPerRound = 16;

}  // namespace

WaitPlans plans_for(const base::Settings& settings) {
  return {{settings.spin, settings.yield},
          {std::min(settings.spin, kOversubscribedSpin),
           std::min(settings.yield, kOversubscribedYield), true}};
}

int Core::poll_all(bool thorough, base::Status& status) {
  const auto polled = transports_.poll(
      thorough, *this, status, [this] { return expected_ != nullptr && expected_->is_received; });
  if (polled.is_complete) bytes_since_poll_ = 0;
  return polled.packets;
}

[[gnu::always_inline]] inline Core::RoundResult Core::make_round(Guard& guard, bool thorough) {
  RoundResult round;
  if (may_match_in_provider_) {
    provider.progress();
    if (cancelling.has_deferred()) cancelling.reply_to_deferred();
  }
  round.moved = poll_all(thorough, round.status);
  if (!busy_.empty()) round.moved += push_all();
  if (!reads_.empty()) round.moved += read_some();
  if (!shares_.empty()) round.moved += write_some();
  if (!unrouted_.empty()) route_waiting(guard);
  const bool has_control = inbox_.has_work();
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed) + 1;
  rounds_.store(rounds, std::memory_order_relaxed);
  round.is_maintenance_due = rounds >= next_maintenance_;
  if (round.is_maintenance_due) [[unlikely]]
    next_maintenance_ = rounds + kRoundsPerMaintenance;
  if (has_control) {
    guard.unlock();
    inbox_.handle();
    guard.lock();
  }
  if (!work.empty()) work.run(guard);
  guard.unlock();
  return round;
}

base::Result<int> Core::round(bool thorough) {
  Guard guard = enter();
  RoundResult round = make_round(guard, thorough);
  if (round.is_maintenance_due) {
    liveness.check();
    if (engines_->are_several()) engines_->poll_others(*this, false);
  }
  if (!round.status) return std::move(round.status).error();
  return round.moved;
}

void Core::poll_active() {
  {
    const EngineLock::Scope lock(lock_);
    if (++quick_polls_ % kQuickPollsPerRound != 0) {
      base::Status status;
      poll_all(false, status);
      return;
    }
  }
  static_cast<void>(round(false));
}

int Core::poll_for_others(bool pre_sleep) {
  if (is_polled_by_others()) return 0;
  Guard guard = lock_.try_enter();
  if (!guard.owns_lock()) return 0;
  // errors are left to the threads that use this engine: their own rounds return them, too
  const RoundResult round = make_round(guard, true);
  // excludes the round just made
  rounds_at_last_visit_.store(rounds_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (round.is_maintenance_due || pre_sleep) liveness.check();
  if (pre_sleep) run_pre_sleep_work();
  return round.moved;
}

/// True if another thread has polled this engine since the last check, or sleeps in it; it then
/// needs no help.
bool Core::is_polled_by_others() {
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed);
  return rounds_at_last_visit_.exchange(rounds, std::memory_order_relaxed) != rounds ||
         sleepers() != 0;
}

void Core::yield_or_sleep(Backoff& backoff, Backoff::Step step, WaitSubject& subject,
                          const transport::Transport::LastCheck& last_check) {
  const bool sleeps = step == Backoff::Step::sleep;
  if (engines_->are_several() && backoff.should_poll_others() &&
      engines_->poll_others(*this, sleeps) != 0)
    return;
  if (!sleeps) return;
  reporter_.report_if_due(subject);
  sleep_once(backoff, last_check);
}

// Runs before this thread counts as asleep: the work may enter the engine, and would be taken for
// another thread.
void Core::run_pre_sleep_work() {
  Guard guard = enter();
  work.run_pre_sleep_work(guard);
}

/// Sleep in the first transport; packets of the others wake the thread if they have descriptors. No
/// descriptors are used if other threads may complete this thread's operations without waking it,
/// or several threads may sleep. A thread that is alone need not be woken by packets from its own
/// process: only it sends them, so they are queued before it sleeps.
Core::WaitSet Core::make_wait_set() {
  const bool is_alone = !lock_.has_several_threads() && !engines_->are_several(),
             may_skip_self = is_alone && transports_.size() > 1;
  WaitSet wait_set;
  transports_.for_each([&](transport::Transport& each) {
    if (wait_set.has_unwakeable) return;
    const bool is_self = each.reach() == transport::Reach::own_process,
               is_first = wait_set.transport == nullptr;
    if (is_self && !each.is_flushed()) wait_set.has_self_packet = true;
    if (is_self && (may_skip_self || !is_first)) return;
    const int descriptor = is_first || !is_alone ? -1 : each.descriptor();
    if (is_first && each.can_sleep()) {
      wait_set.transport = &each;
    } else if (descriptor >= 0 && wait_set.count < wait_set.descriptors.size() &&
               wait_set.transport->may_wait_for_descriptors()) {
      wait_set.descriptors[wait_set.count++] = descriptor;
    } else {
      wait_set.has_unwakeable = true;
      wait_set.count = 0;
    }
  });
  return wait_set;
}

/// Return the number of threads of one engine that a packet may wake.
int max_woken_threads() {
  return std::max(kMinWoken, static_cast<int>(std::thread::hardware_concurrency()));
}

void Core::sleep_once(Backoff& backoff, const transport::Transport::LastCheck& last_check) {
  liveness.check();
  run_pre_sleep_work();
  WaitSet wait_set;
  base::Nanoseconds longest = kMaxSleepWoken;
  bool packets_wake_others = false;
  std::optional<EngineLock::Asleep> asleep;
  {
    Guard guard = enter();
    asleep.emplace(lock_);
    wait_set = make_wait_set();
    packets_wake_others = sleepers() > max_woken_threads_;
    if (wait_set.has_unwakeable || lock_.has_several_threads() || engines_->are_several())
      longest = std::min(kMaxSleepWoken,
                         kMaxSleepPolling * (1 + engines_->sleepers() / kSleepersPerWakeup));
    if (!packets_wake_others && (has_output() || !reads_.empty() || work.needs_polling() ||
                                 (engines_->are_several() && engines_->any_needs_polling())))
      longest = kMaxSleepWithOutput;
  }
  const base::Nanoseconds duration = wait_set.has_unwakeable
                                         ? backoff.next_poll_sleep_ns(longest, base::now_ns())
                                         : backoff.next_sleep_ns(longest);
  if (wait_set.has_self_packet) {
    // no sleep: the next round handles the packet
  } else if (wait_set.transport != nullptr && !packets_wake_others) {
    wait_set.transport->sleep(
        duration, [&] { return asleep->check(last_check); },
        std::span(wait_set.descriptors.data(), wait_set.count));
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
  }
}

bool Core::is_flushed() {
  Guard guard = enter();
  if (unfinished_released != 0) return false;
  const Peer* const with_output = peers_.find_first([&](Peer& peer) -> Peer* {
    const bool has_output = !peer.queue.empty() || !peer.streams.empty();
    return has_output && spec.router->receives_packets(peer.process) ? &peer : nullptr;
  });
  return with_output == nullptr && transports_.are_flushed();
}

/// A poll for another message may have received control messages, or the beginning of one.
bool Core::has_handled_all_control() {
  std::vector<base::ProcessId> senders;
  {
    Guard guard = enter();
    if (inbox_.has_work()) return false;
    peers_.for_each([&](const Peer& peer) {
      if (!peer.control_part.empty() && !peer.failure) senders.push_back(peer.process);
    });
  }
  return std::ranges::none_of(senders, [&](base::ProcessId process) {
    return spec.router->receives_packets(process) && spec.router->is_alive(process);
  });
}

}  // namespace shim::p2p
