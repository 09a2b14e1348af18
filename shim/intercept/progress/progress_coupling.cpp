// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/progress/progress_coupling.hpp"

#include <sched.h>

#include <atomic>

#include "shim/intercept/abi/progress.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

/// Rounds between polls of the substrate, because its round costs as much as several of ours and
/// may yield the core.
constexpr unsigned kRoundsPerSubstratePoll = 16;
/// Polls before our wait sleeps, because a long message of the substrate needs many.
constexpr int kPollsBeforeSleep = 4;

// Engines in which threads blocked in the substrate make progress, and the number of threads that
// are using them now (helpers). Such a thread first increments the count, then reads the engines;
// the destructor first clears the engines, then waits until the count is 0. All are sequentially
// consistent, so that the thread reads null or the destructor sees the count.
constinit std::atomic<p2p::Engines*> coupled_engines{nullptr};
constinit std::atomic<ProgressThread*> coupled_thread{nullptr};  // as coupled_engines
constinit std::atomic<int> helpers{0};
constinit NativeCallCounts native_calls;

/// Guards against recursion: our wait → the substrate's progress → our progress.
thread_local bool is_in_cross_progress = false;

/// Marks a round; ends also by an exception, or pthread_exit, of a callback.
struct CrossProgressScope {
  CrossProgressScope() { is_in_cross_progress = true; }
  ~CrossProgressScope() { is_in_cross_progress = false; }
  CrossProgressScope(const CrossProgressScope&) = delete;
  CrossProgressScope& operator=(const CrossProgressScope&) = delete;
};

struct ScopedCount {
  explicit ScopedCount(std::atomic<int>& count) : count_(count) { count_.fetch_add(1); }
  ~ScopedCount() { count_.fetch_sub(1); }
  ScopedCount(const ScopedCount&) = delete;
  ScopedCount& operator=(const ScopedCount&) = delete;

 private:
  std::atomic<int>& count_;
};

abi::SubstrateProgress substrate_progress() { return abi::resolve_progress(substrate_symbol); }

/// Called by threads that wait inside the substrate. Return the number of completed events: 0,
/// since it is unknown.
int progress_callback() {
  progress_sessions();
  return 0;
}

/// Envelope for a probe that never matches: a successful probe may return without progress, and a
/// probe on MPI_COMM_SELF never makes progress (seen in MPICH 4.0).
struct UnmatchedProbe {
  int rank = 0, tag = 0;
  UnmatchedProbe() {
    int* bound = nullptr;
    int found = 0;
    active_table.Comm_rank(abi::predefined.comm_world, &rank);
    active_table.Comm_get_attr(abi::predefined.comm_world, MPI_TAG_UB, &bound, &found);
    if (found != 0) tag = *bound;
  }
};

/// Make progress through a probe, for a substrate that does not export its progress function.
void poll_by_probe() {
  static const UnmatchedProbe unmatched;
  int flag = 0;
  active_table.Iprobe(unmatched.rank, unmatched.tag, abi::predefined.comm_world, &flag,
                      MPI_STATUS_IGNORE);
}

void poll_substrate(int polls) {
  if (is_in_cross_progress || !may_call_substrate()) return;
  static const auto poll = substrate_progress().poll;
  const CrossProgressScope now;
  for (; polls > 0; --polls) poll != nullptr ? poll() : poll_by_probe();
}

// Called by threads that wait in our engines.
void poll_substrate_periodically() {
  thread_local unsigned round = 0;
  if (++round % kRoundsPerSubstratePoll == 0) poll_substrate(1);
}
void poll_substrate_before_sleep() { poll_substrate(kPollsBeforeSleep); }

}  // namespace

ProgressCoupling::ProgressCoupling(p2p::Engine& first, p2p::Engines& engines, const base::Log& log)
    : first_(&first),
      number_(first.add_progress(poll_substrate_periodically, poll_substrate_before_sleep)) {
  coupled_engines.store(&engines);
  static const bool added = [] {  // once: the substrate is initialised once in a process
    auto progress = substrate_progress();
    return progress.add != nullptr && progress.add(progress_callback) == 0;
  }();
  if (added) return;
  thread_ = ProgressThread::make(engines, native_calls, log);
  coupled_thread.store(thread_.get());
  current_table.store(&polling_table,
                      std::memory_order_release);  // pairs with the acquire in native()
}

ProgressCoupling::~ProgressCoupling() {
  first_->remove_progress(number_);
  // A thread that waits through the polling table continues to poll the substrate and finds no
  // engines.
  if (is_active()) current_table.store(&active_table, std::memory_order_release);
  coupled_engines.store(nullptr);
  coupled_thread.store(nullptr);
  while (helpers.load() != 0) sched_yield();
}

void progress_sessions() {
  if (is_in_cross_progress) return;
  const ScopedCount helper(helpers);
  if (p2p::Engines* engines = coupled_engines.load()) {
    const CrossProgressScope now;
    // the failed operation keeps the error for its owner
    static_cast<void>(engines->progress());
  }
}

BlockingNativeCall::BlockingNativeCall() noexcept {
  native_calls.begun.fetch_add(1);
  native_calls.inside.fetch_add(1);
  helpers.fetch_add(1);
  if (ProgressThread* thread = coupled_thread.load()) thread->on_call();
  helpers.fetch_sub(1);
}

BlockingNativeCall::~BlockingNativeCall() { native_calls.inside.fetch_sub(1); }

void decouple_engines() noexcept {
  coupled_engines.store(nullptr);
  coupled_thread.store(nullptr);
}

void disable_native_polling() noexcept { is_in_cross_progress = true; }

}  // namespace shim::intercept
