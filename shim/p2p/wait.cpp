// SPDX-License-Identifier: BSD-3-Clause
// Progress and waiting.
#include <algorithm>
#include <chrono>
#include <thread>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

// A transport other than the first that stays silent this long is asked less often while somebody spins …
constexpr int kSilentPolls = 64;
// … namely once in so many rounds.
constexpr int kSkippedRounds = 8;

// Longest naps: where a packet wakes us; where something has to be polled, or other threads may do our work for us unseen;
// where packets of our own wait for room, or somebody else's transfer goes on only while we look at it.
constexpr base::Nanoseconds kLongNap = 10'000'000, kShortNap = 1'000'000, kPushNap = 100'000;
// More threads of the process than this share the wake-ups of short naps: hundreds that wake each millisecond leave no time for work.
constexpr int kShortNappers = 16;

// With more processes than cores: whoever is waited for may need this core.
constexpr int kCrowdedSpin = 0, kCrowdedYield = 2000;

// Who finds in looks all that it wants never waits: so many are a round, in which others' work has its turn.
constexpr unsigned kLooksPerRound = 16;

}  // namespace

WaitPlans plans_for(const base::Settings& settings) {
  return {{settings.spin, settings.yield}, {std::min(settings.spin, kCrowdedSpin), std::min(settings.yield, kCrowdedYield), true}};
}

int Core::poll_all(bool thorough, base::Status& status) {
  int moved = 0;
  bool is_complete = true;
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    Polled& polled = transports_[i];
    if (!thorough && polled.skip > 0) {
      --polled.skip;
      is_complete = false;
      continue;
    }
    auto packets = polled.transport->poll(*this);
    if (!packets) {
      status = std::move(packets).error();
      continue;
    }
    moved += *packets;
    if (awaited_ != nullptr && awaited_->has_come) return moved;
    polled.silent = *packets != 0 ? 0 : std::min(polled.silent + 1, kSilentPolls);
    polled.skip = i != 0 && polled.silent == kSilentPolls ? kSkippedRounds : 0;
  }
  if (is_complete) sent_in_a_row_ = 0;
  return moved;
}

void Core::skip_no_transport() {
  for (Polled& polled : transports_) polled.skip = 0;
}

[[gnu::always_inline]] inline Core::Round Core::make_round(Guard& guard, bool thorough) {
  Round round;
  if (matches_below_) serve_below();
  round.moved = poll_all(thorough, round.status);
  if (!busy_.empty()) round.moved += push_all();
  if (!reads_.empty()) round.moved += read_some();
  if (!shares_.empty()) round.moved += write_some();
  if (!unrouted_.empty()) route_waiting(guard);
  bool has_control = !inbox_.empty() && handler_ != nullptr;
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed) + 1;
  rounds_.store(rounds, std::memory_order_relaxed);
  round.is_time_to_look_around = rounds >= next_look_around_;
  if (round.is_time_to_look_around) [[unlikely]] next_look_around_ = rounds + kRoundsPerLookAround;
  if (has_control) {
    guard.unlock();
    handle_control();
    guard.lock();
  }
  if (!work.empty()) work.run(guard);
  guard.unlock();
  return round;
}

base::Result<int> Core::round(bool thorough) {
  Guard guard = enter();
  Round round = make_round(guard, thorough);
  if (round.is_time_to_look_around) {
    check_liveness();
    if (engines_->are_several()) engines_->look_after_others(*this, false);
  }
  if (!round.status) return std::move(round.status).error();
  return round.moved;
}

void Core::look() {
  {
    const Inside inside(*this);
    if (++looks_ % kLooksPerRound != 0) {
      base::Status status;
      poll_all(false, status);
      return;
    }
  }
  static_cast<void>(round(false));
}

int Core::visit(bool before_sleep) {
  if (is_attended_to()) return 0;
  Guard guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return 0;
  const Round round = make_round(guard, true);  // an error is for those whose transport it is: their own rounds meet it, too
  rounds_at_last_look_.store(rounds_.load(std::memory_order_relaxed), std::memory_order_relaxed);  // that one was ours
  if (round.is_time_to_look_around || before_sleep) check_liveness();
  if (before_sleep) run_before_sleep();
  return round.moved;
}

/// Whoever was here between this look and the one before it, or sleeps here until something comes, does without the one who looks.
bool Core::is_attended_to() {
  const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed);
  return rounds_at_last_look_.exchange(rounds, std::memory_order_relaxed) != rounds || sleepers() != 0;
}

void Core::rest(Backoff& backoff, Backoff::Step step, const transport::Transport::LastLook& last_look) {
  const bool sleeps = step == Backoff::Step::sleep;
  if (engines_->are_several() && backoff.is_time_for_others() && engines_->look_after_others(*this, sleeps) != 0) return;
  if (sleeps) nap(backoff, last_look);
}

// Before this thread counts as asleep: the work may come back to us, which is no other thread then.
void Core::run_before_sleep() {
  Guard guard = enter();
  work.run_before_sleep(guard);
}

/// The first transport knows how to sleep, and the others' packets end that where they have descriptors. Where other threads may do our work unseen,
/// or more than one may sleep, nobody waits for descriptors. Who is alone gets nothing from itself meanwhile but what it has sent already.
Core::Bed Core::make_bed() {
  const bool is_alone = !several_threads_ && !engines_->are_several(), may_skip_self = is_alone && transports_.size() > 1;
  Bed bed;
  for (const Polled& polled : transports_) {
    transport::Transport& each = *polled.transport;
    const bool is_self = each.name() == "self", is_first = bed.transport == nullptr;
    if (is_self && !each.is_flushed()) bed.has_come = true;
    if (is_self && (may_skip_self || !is_first)) continue;
    const int descriptor = is_first || !is_alone ? -1 : each.descriptor();
    if (is_first && each.can_sleep()) {
      bed.transport = &each;
    } else if (descriptor >= 0 && bed.count < bed.descriptors.size() && bed.transport->may_wait_for_descriptors()) {
      bed.descriptors[bed.count++] = descriptor;
    } else {
      bed.is_blind = true;
      bed.count = 0;
      return bed;
    }
  }
  return bed;
}

void Core::nap(Backoff& backoff, const transport::Transport::LastLook& last_look) {
  check_liveness();
  run_before_sleep();
  Bed bed;
  base::Nanoseconds longest = kLongNap;
  {
    Guard guard = enter();
    count_sleepers(+1);
    bed = make_bed();
    if (bed.is_blind || several_threads_ || engines_->are_several())
      longest = std::min(kLongNap, kShortNap * (1 + engines_->sleepers() / kShortNappers));
    if (has_output() || !reads_.empty() || work.is_restless() || (engines_->are_several() && engines_->are_restless())) longest = kPushNap;
  }
  const base::Nanoseconds nap = bed.is_blind ? backoff.blind_nap_ns(longest, base::now_ns()) : backoff.nap_ns(longest);
  if (bed.has_come) {
    // no nap: another round takes it
  } else if (bed.transport != nullptr) {
    const auto look_once_more = [&] {
      change_sleepers(-1);  // what is asked may come in here: that is no other thread
      const bool has_come = last_look();
      change_sleepers(+1);
      return has_come;
    };
    bed.transport->sleep(nap, look_once_more, std::span(bed.descriptors.data(), bed.count));
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(nap));
  }
  change_sleepers(-1);
}

/// For the one who sleeps: not by enter(), which would take it for another one than the sleeper.
void Core::change_sleepers(int by) {
  const Guard guard(lock_);
  count_sleepers(by);
}

bool Core::is_flushed() {
  Guard guard = enter();
  if (unfinished_released != 0) return false;
  for (auto& [process, peer] : peers_) {
    const bool has_output = !peer->queue.empty() || !peer->streams.empty();
    if (has_output && spec.router->takes_packets(process)) return false;
  }
  for (const Polled& polled : transports_) {
    if (!polled.transport->is_flushed()) return false;
  }
  return true;
}

/// A look that was for another message may have taken some out, or the beginning of one.
bool Core::has_heard_all() {
  std::vector<base::ProcessId> speakers;
  {
    Guard guard = enter();
    if (!inbox_.empty() && handler_ != nullptr) return false;
    for (const auto& [process, peer] : peers_)
      if (!peer->control_part.empty() && !peer->failure) speakers.push_back(process);
  }
  return std::ranges::none_of(speakers, [&](base::ProcessId process) { return spec.router->takes_packets(process) && spec.router->is_alive(process); });
}

}  // namespace shim::p2p
