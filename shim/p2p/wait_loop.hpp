// SPDX-License-Identifier: BSD-3-Clause
// WaitLoop makes rounds of progress until a condition holds: it polls, then yields, then sleeps.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "shim/base/clock.hpp"
#include "shim/p2p/backoff.hpp"
#include "shim/p2p/engine_lock.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/progress_work.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"
#include "shim/p2p/wait_reporter.hpp"

namespace shim::p2p {

/// The engine in a round of progress.
class RoundActions {
 public:
  /// Poll, send and receive once, and handle control messages; return the number of packets moved.
  /// The caller holds the lock, which is released meanwhile.
  virtual int progress_all(Guard& guard, bool thorough, base::Status& status) = 0;
  /// True if packets or transfers of this process advance only when it polls. Under the lock.
  virtual bool has_own_output() const = 0;
  /// Without the lock.
  virtual void check_liveness() = 0;

 protected:
  ~RoundActions() = default;
};

/// Callers do not hold the engine's lock unless stated otherwise.
class WaitLoop final : public CoreLoad {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    EngineLock& lock;
    Transports& transports;
    Engines& engines;
    const WaitReporter& reporter;
    RoundActions& actions;
  };
  WaitLoop(const Collaborators& collaborators, const base::Settings& settings,
           bool is_oversubscribed);

  /// Make one round; return the number of packets moved. Thorough: poll every transport.
  [[gnu::hot]] base::Result<int> round(bool thorough);
  /// Make one round on behalf of a thread that waits in another engine of the process, unless other
  /// threads poll this engine. Return the number of packets moved.
  int poll_for_others(bool pre_sleep);
  /// Make rounds until done() holds (true) or the deadline passes (false).
  template <typename Done>
  [[gnu::hot]] base::Result<bool> wait(const Done& done, WaitSubject& subject,
                                       base::Deadline deadline = base::Deadline::never());

  /// Registered work; under the lock.
  ProgressWork& work() { return work_; }
  /// True if registered work allows short sleeps only.
  bool needs_polling() const { return work_.needs_polling(); }
  /// Return the number of threads that sleep in the engine; a hint.
  int sleepers() const { return collaborators_.lock.sleepers(); }

  void set_oversubscribed(bool is_oversubscribed) {
    is_oversubscribed_.store(is_oversubscribed, std::memory_order_relaxed);
  }
  bool is_oversubscribed() const override {
    return is_oversubscribed_.load(std::memory_order_relaxed);
  }
  const WaitPlan& plan() const {
    return is_oversubscribed() ? plans_.oversubscribed : plans_.undersubscribed;
  }

  /// Count rounds that were made elsewhere; true if the clock and the other engines must be checked
  /// now. Under the lock.
  [[gnu::always_inline]] bool count_rounds(std::uint64_t made) {
    const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed) + made;
    rounds_.store(rounds, std::memory_order_relaxed);
    return rounds >= next_maintenance_;
  }
  /// Count a poll that is no round; true if a round must be made instead now and then, so that
  /// other work progresses. Under the lock.
  bool is_round_due_after_poll() { return ++quick_polls_ % kQuickPollsPerRound == 0; }

 private:
  // A receiver that always finds its message never enters the wait loop; make a full round after
  // this many polls so that other work progresses.
  static constexpr unsigned kQuickPollsPerRound = 16;
  // rounds between checks of the clock and of the process's other engines
  static constexpr std::uint64_t kRoundsPerMaintenance = 1024;

  struct RoundResult {
    int moved = 0;
    bool is_maintenance_due = false;
    base::Status status;
  };
  /// Sources that wake a sleeping thread.
  struct WaitSet {
    transport::Sleeper* sleeper = nullptr;  ///< of the transport to sleep in; null: none can
    std::array<int, transport::kMaxDescriptors> descriptors{};
    std::size_t count = 0;         ///< number of descriptors
    bool has_unwakeable = false;   ///< true if some packets do not wake the thread
    bool has_self_packet = false;  ///< a packet from this process itself is waiting
  };
  [[gnu::hot]] RoundResult make_round(Guard& guard, bool thorough);  ///< releases the lock
  bool is_polled_by_others();
  /// Yield or sleep, after polling in vain for a moment.
  void yield_or_sleep(Backoff& backoff, Backoff::Step step, WaitSubject& subject,
                      const transport::Sleeper::LastCheck& last_check);
  void sleep_once(Backoff& backoff, const transport::Sleeper::LastCheck& last_check);
  void run_pre_sleep_work();
  WaitSet make_wait_set();

  const Collaborators collaborators_;
  const WaitPlans plans_;
  std::atomic<bool> is_oversubscribed_;  ///< a hint, pairs with nothing
  /// most threads asleep in this engine that packets wake; further threads sleep for a fixed time
  const int max_woken_threads_;
  ProgressWork work_;
  unsigned quick_polls_ = 0;
  std::atomic<std::uint64_t> rounds_{0};  ///< changed under the lock; a hint without it
  std::uint64_t next_maintenance_ = kRoundsPerMaintenance;
  std::atomic<std::uint64_t> rounds_at_last_visit_{0};  ///< a hint, pairs with nothing
};

template <typename Done>
base::Result<bool> WaitLoop::wait(const Done& done, WaitSubject& subject, base::Deadline deadline) {
  Backoff backoff(plan());
  // not evaluated again once it has held: it may have consumed its result, and LastCheck before a
  // sleep evaluates it, too
  bool has_held = false;
  const auto holds = [&] { return has_held || (has_held = done()); };
  if (holds()) return true;
  while (!has_held) {
    SHIM_TRY_ASSIGN(int moved, round(backoff.is_past_spinning()));
    if (holds()) break;
    if (deadline.passed()) return false;
    if (moved != 0)
      backoff.restart(moved);  // a round takes one batch at most, so more may be waiting
    else if (const Backoff::Step step = backoff.step(); step != Backoff::Step::spin)
      yield_or_sleep(backoff, step, subject, std::cref(holds));
  }
  return true;
}

}  // namespace shim::p2p
