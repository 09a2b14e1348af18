// SPDX-License-Identifier: BSD-3-Clause
// Implements the functions of FailureHandling on failed members.
#include "shim/p2p/core.hpp"

namespace shim::p2p {

/// Check for deaths as a waiting thread would, without waiting.
std::vector<int> Core::check_members(Context& context) {
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
  return core_->check_members(context);
}

void FailureHandling::record_failed_rank(Context& context, int rank) {
  Guard guard = core_->enter();
  core_->failed_members.record_failed_rank(context, rank);
}

int FailureHandling::acknowledge_failed(Context& context, int count) {
  Guard guard = core_->enter();
  return core_->failed_members.acknowledge(context, count);
}

int FailureHandling::acknowledged(Context& context) {
  Guard guard = core_->enter();
  return context.acknowledged;
}

std::optional<base::Error> FailureHandling::pending_failure(Request& request) {
  if (request.core_ == nullptr) return std::nullopt;
  Guard guard = request.core_->enter();
  return FailedMembers::pending_failure(request);
}

bool FailureHandling::has_unacknowledged_failures() const {
  return core_->failed_members.has_unacknowledged();
}

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
