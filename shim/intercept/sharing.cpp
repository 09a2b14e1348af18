// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/sharing.hpp"

#include <sched.h>

#include <atomic>

#include "shim/intercept/abi/progress.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

/// A wait of ours looks at the substrate once in so many rounds, because its round costs as much as several of ours, and may give
/// the core away besides.
constexpr unsigned kRoundsPerLoan = 16;
/// Looks before our wait sleeps: a long message of the substrate's takes many.
constexpr int kLooksBeforeSleep = 4;

// Whom the substrate's waiters lend time to, and how many of them are there at present. A waiter first counts itself, then
// reads the engines; the destructor first clears them, then waits for the count: sequentially consistent on both sides,
// so that one of the two sees the other.
constinit std::atomic<p2p::Engines*> engines_to_help{nullptr};
constinit std::atomic<ProgressThread*> thread_to_tell{nullptr};  // likewise
constinit std::atomic<int> helpers{0};
constinit CallsBelow calls_below;

/// Guards against going round in circles: our wait → the substrate's progress → our progress.
thread_local bool lending = false;

/// For the time of a round. It ends with an exception, or pthread_exit, of a callback, too.
struct LendingNow {
  LendingNow() { lending = true; }
  ~LendingNow() { lending = false; }
  LendingNow(const LendingNow&) = delete;
  LendingNow& operator=(const LendingNow&) = delete;
};

struct Counted {
  explicit Counted(std::atomic<int>& count) : count_(count) { count_.fetch_add(1); }
  ~Counted() { count_.fetch_sub(1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

abi::SubstrateProgress substrate_progress() { return abi::resolve_progress(substrate_symbol); }

/// Called by threads that wait inside the substrate. Answers the number of events, of which we know none.
int help_ours() {
  lend_to_ours();
  return 0;
}

/// Whom to ask for what is never there: a probe that finds a message may come back without having moved others, and one on
/// MPI_COMM_SELF never moves any (seen in MPICH 4.0).
struct Nothing {
  int rank = 0, tag = 0;
  Nothing() {
    int* bound = nullptr;
    int found = 0;
    active_table.Comm_rank(abi::predefined.comm_world, &rank);
    active_table.Comm_get_attr(abi::predefined.comm_world, MPI_TAG_UB, &bound, &found);
    if (found != 0) tag = *bound;
  }
};

/// Without the function, any call that makes progress will do.
void poll_by_probe() {
  static const Nothing nothing;
  int flag = 0;
  active_table.Iprobe(nothing.rank, nothing.tag, abi::predefined.comm_world, &flag, MPI_STATUS_IGNORE);
}

void look_at_substrate(int looks) {
  if (lending || !may_call_substrate()) return;
  static const auto poll = substrate_progress().poll;
  const LendingNow now;
  for (; looks > 0; --looks) poll != nullptr ? poll() : poll_by_probe();
}

// Called by threads that wait in our engines.
void help_substrate() {
  thread_local unsigned round = 0;
  if (++round % kRoundsPerLoan == 0) look_at_substrate(1);
}
void help_substrate_before_sleep() { look_at_substrate(kLooksBeforeSleep); }

}  // namespace

ProgressSharing::ProgressSharing(p2p::Engine& first, p2p::Engines& engines, const base::Log& log)
    : first_(&first), number_(first.add_progress(help_substrate, help_substrate_before_sleep)) {
  engines_to_help.store(&engines);
  static const bool added = [] {  // once: the substrate is initialised once in a process
    auto progress = substrate_progress();
    return progress.add != nullptr && progress.add(help_ours) == 0;
  }();
  if (added) return;
  thread_ = ProgressThread::make(engines, calls_below, log);
  thread_to_tell.store(thread_.get());
  current_table.store(&lending_table, std::memory_order_release);  // pairs with the acquire in native()
}

ProgressSharing::~ProgressSharing() {
  first_->remove_progress(number_);
  // A thread that waits by way of the other table goes on polling the substrate, and finds nobody to help.
  if (is_active()) current_table.store(&active_table, std::memory_order_release);
  engines_to_help.store(nullptr);
  thread_to_tell.store(nullptr);
  while (helpers.load() != 0) sched_yield();
}

void lend_to_ours() {
  if (lending) return;
  const Counted helper(helpers);
  if (p2p::Engines* engines = engines_to_help.load()) {
    const LendingNow now;
    // a failure here belongs to an operation, which keeps it for its owner
    static_cast<void>(engines->progress());
  }
}

Inside::Inside() noexcept {
  calls_below.begun.fetch_add(1);
  calls_below.inside.fetch_add(1);
  helpers.fetch_add(1);
  if (ProgressThread* thread = thread_to_tell.load()) thread->notice();
  helpers.fetch_sub(1);
}

Inside::~Inside() { calls_below.inside.fetch_sub(1); }

void forget_engines() noexcept {
  engines_to_help.store(nullptr);
  thread_to_tell.store(nullptr);
}

void keep_to_ours() noexcept { lending = true; }

}  // namespace shim::intercept
