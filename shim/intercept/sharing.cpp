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

/// A wait of ours looks at the substrate once in so many rounds: its round costs as much as several of ours.
constexpr unsigned kRoundsPerLoan = 16;

// Whom the substrate's waiters lend time to, and how many of them are there at present. A waiter first counts itself, then
// reads the engine; the destructor first clears the engine, then waits for the count: sequentially consistent on both sides,
// so that one of the two sees the other.
constinit std::atomic<p2p::Engine*> engine_to_help{nullptr};
constinit std::atomic<int> helpers{0};

/// Guards against going round in circles: our wait → the substrate's progress → our progress.
thread_local bool lending = false;

abi::SubstrateProgress substrate_progress() { return abi::resolve_progress(substrate_symbol); }

/// Called by threads that wait inside the substrate. Answers the number of events, of which we know none.
int help_ours() {
  if (lending) return 0;
  helpers.fetch_add(1);
  if (p2p::Engine* engine = engine_to_help.load()) {
    lending = true;
    // a failure here belongs to an operation, which keeps it for its owner
    static_cast<void>(engine->progress());
    lending = false;
  }
  helpers.fetch_sub(1);
  return 0;
}

/// Without the function, any call that makes progress will do.
void poll_by_probe() {
  int flag = 0;
  active_table.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, abi::predefined.comm_self, &flag, MPI_STATUS_IGNORE);
}

/// Called by threads that wait in our engine.
void help_substrate() {
  thread_local unsigned round = 0;
  if (++round % kRoundsPerLoan != 0 || lending || !may_call_substrate()) return;
  static const auto poll = substrate_progress().poll;
  lending = true;
  if (poll != nullptr) poll();
  else poll_by_probe();
  lending = false;
}

}  // namespace

ProgressSharing::ProgressSharing(p2p::Engine& engine) : engine_(&engine), number_(engine.add_progress(help_substrate)) {
  engine_to_help.store(&engine);
  static const bool added = [] {  // once: the substrate is initialised once in a process
    auto progress = substrate_progress();
    return progress.add != nullptr && progress.add(help_ours) == 0;
  }();
  static_cast<void>(added);  // without it, a thread blocked in the substrate moves our messages no further
}

ProgressSharing::~ProgressSharing() {
  engine_->remove_progress(number_);
  engine_to_help.store(nullptr);
  while (helpers.load() != 0) sched_yield();
}

}  // namespace shim::intercept
