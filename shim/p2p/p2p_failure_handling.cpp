// SPDX-License-Identifier: BSD-3-Clause
// Implements FailureHandling: each function takes the lock and calls the part that does the work.
#include "shim/p2p/core.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

void FailureHandling::fail_collectives(Context& context, const base::Error& reason) {
  Guard guard = core_->enter();
  core_->collective_failures.end_collectives(context, reason);
}

const std::atomic<bool>& FailureHandling::collectives_have_failed(const Context& context) {
  return context.collectives_have_failed;
}

base::Error FailureHandling::collective_failure(Context& context) {
  Guard guard = core_->enter();
  return context.collective_failure->clone();
}

void FailureHandling::record_refusal(Context& context, bool is_persistent_collective,
                                     const base::Error& reason) {
  Guard guard = core_->enter();
  core_->collective_failures.record_refusal(context, is_persistent_collective, reason);
}

void FailureHandling::check_call_number(Context& context, int tag) {
  Guard guard = core_->enter();
  core_->collective_failures.check_call_number(context, tag);
}

CollectiveNumbers& FailureHandling::numbers_of(Context& context) { return context.numbers; }

bool FailureHandling::has_sent_failure_notices() {
  Guard guard = core_->enter();
  return core_->collective_failures.has_sent_notices();
}

base::Status FailureHandling::confirm_reads(Context& context) {
  if (!context.has_unconfirmed_reads.load(std::memory_order_relaxed)) [[likely]]
    return {};
  Guard guard = core_->enter();
  core_->confirm_reads(context);
  if (context.collective_failure) return context.collective_failure->clone();
  return {};
}

void FailureHandling::revoke(Context& context) {
  Guard guard = core_->enter();
  core_->collective_failures.revoke(context);
}

bool FailureHandling::is_revoked(Context& context) {
  Guard guard = core_->enter();
  return context.is_revoked;
}

std::vector<int> FailureHandling::failed_members(Context& context) {
  return core_->liveness.check_members(context);
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
  core_->liveness.watch(process);
}

void Progress::unwatch(Watched& process) {
  Guard guard = core_->enter();
  core_->liveness.unwatch(process);
}

bool Progress::is_gone(const Watched& process) {
  Guard guard = core_->enter();
  return process.is_gone;
}

}  // namespace shim::p2p
