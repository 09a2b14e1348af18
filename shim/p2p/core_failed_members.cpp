// SPDX-License-Identifier: BSD-3-Clause
// Tracks failed members of a communicator, and receives from any source that they affect.
//
// A receive from any source may wait in vain for a failed member (ULFM, "MPI_ANY_SOURCE"). A failed
// member has died or is unreachable; a member that has finalized its last session is not failed. A
// receive from any source that the program can complete later stays active when a member fails, and
// settles; other receives end.
#include <algorithm>
#include <string>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

std::string list_of(const Context& context) {
  std::string list;
  for (std::size_t i = static_cast<std::size_t>(context.acknowledged);
       i < context.failed_ranks.size(); ++i)
    list += (list.empty() ? "" : ", ") + std::to_string(context.failed_ranks[i]);
  return list;
}

base::Error unacknowledged_error(const Context& context) {
  return {
      base::ErrorClass::proc_failed,
      "a possible source of the message has failed (rank " + list_of(context) +
          "); acknowledge the failure with MPIX_Comm_ack_failed, or receive from a specific rank"};
}

}  // namespace

/// Called with the engine's lock held.
void Core::record_failed_rank(Context& context, int rank) {
  if (std::ranges::find(context.failed_ranks, rank) != context.failed_ranks.end()) return;
  context.failed_ranks.push_back(rank);
  context.has_failures = true;
  if (!context.unacknowledged) unacknowledged_contexts_.fetch_add(1, std::memory_order_relaxed);
  context.unacknowledged = unacknowledged_error(context);
  fail_unsatisfiable(context);
}

void Core::drop_unacknowledged(Context& context) {
  if (!context.unacknowledged) return;
  context.unacknowledged.reset();
  unacknowledged_contexts_.fetch_sub(1, std::memory_order_relaxed);
}

int Core::acknowledge_failed(Context& context, int count) {
  const int known = static_cast<int>(context.failed_ranks.size());
  context.acknowledged = std::max(context.acknowledged, std::min(count, known));
  if (context.acknowledged < known) {
    context.unacknowledged = unacknowledged_error(context);
    return context.acknowledged;
  }
  drop_unacknowledged(context);
  static_cast<void>(context.matching(Plane::user).find_posted([&](PostedReceive& receive) {
    if (receive.source == kAnySource) static_cast<ReceiveRequest&>(receive).clear_failure_pending();
    return false;
  }));
  return context.acknowledged;
}

std::optional<base::Error> Core::pending_failure(const Request& request) {
  const bool is_pending = request.has_settled() && !request.is_done();
  if (!is_pending) return std::nullopt;
  const Context& context = *static_cast<const ReceiveRequest&>(request).address.context;
  if (!context.unacknowledged) return std::nullopt;
  return base::Error(base::ErrorClass::proc_failed_pending, context.unacknowledged->text());
}

/// Check for deaths as a waiting thread would, without waiting.
std::vector<int> Core::failed_members(Context& context) {
  Guard guard = enter();
  drain_transports();
  for (int rank = 0; rank < context.size; ++rank) {
    const base::ProcessId member = context.spec.members->at(rank);
    const Peer* known = context.known_peer(rank);
    const bool is_known = member == spec.self || (known != nullptr && known->failure);
    if (!is_known && is_dead(member)) fail(peer(member), died_error(member), ProcessEnd::died);
  }
  return context.failed_ranks;
}

std::vector<int> FailureHandling::failed_members(Context& context) {
  return core_->failed_members(context);
}

void FailureHandling::record_failed_rank(Context& context, int rank) {
  Guard guard = core_->enter();
  core_->record_failed_rank(context, rank);
}

int FailureHandling::acknowledge_failed(Context& context, int count) {
  Guard guard = core_->enter();
  return core_->acknowledge_failed(context, count);
}

int FailureHandling::acknowledged(Context& context) {
  Guard guard = core_->enter();
  return context.acknowledged;
}

std::optional<base::Error> FailureHandling::pending_failure(Request& request) {
  if (request.core_ == nullptr) return std::nullopt;
  Guard guard = request.core_->enter();
  return request.core_->pending_failure(request);
}

bool FailureHandling::has_unacknowledged_failures() const { return core_->has_unacknowledged(); }

void Progress::watch(Watched& process) {
  Guard guard = core_->enter();
  core_->watch(process);
}

void Progress::unwatch(Watched& process) {
  Guard guard = core_->enter();
  core_->unwatch(process);
}

bool Progress::is_gone(const Watched& process) {
  Guard guard = core_->enter();
  return process.is_gone;
}

}  // namespace shim::p2p
