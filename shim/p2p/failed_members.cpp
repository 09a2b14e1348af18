// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/failed_members.hpp"

#include <algorithm>
#include <string>

#include "shim/p2p/context_failures.hpp"

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

void FailedMembers::record_failed_rank(Context& context, int rank) {
  if (std::ranges::find(context.failed_ranks, rank) != context.failed_ranks.end()) return;
  context.failed_ranks.push_back(rank);
  context.has_failures = true;
  if (!context.unacknowledged) unacknowledged_contexts_.fetch_add(1, std::memory_order_relaxed);
  context.unacknowledged = unacknowledged_error(context);
  end_unsatisfiable(context);
}

void FailedMembers::drop_unacknowledged(Context& context) {
  if (!context.unacknowledged) return;
  context.unacknowledged.reset();
  unacknowledged_contexts_.fetch_sub(1, std::memory_order_relaxed);
}

int FailedMembers::acknowledge(Context& context, int count) {
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

std::optional<base::Error> FailedMembers::pending_failure(const Request& request) {
  const bool is_pending = request.has_settled() && !request.is_done();
  if (!is_pending) return std::nullopt;
  const Context& context = *static_cast<const ReceiveRequest&>(request).address.context;
  if (!context.unacknowledged) return std::nullopt;
  return base::Error(base::ErrorClass::proc_failed_pending, context.unacknowledged->text());
}

void FailedMembers::end_unsatisfiable(Context& context) {
  const auto reason_of = [&](PostedReceive& posted) -> const base::Error* {
    auto& receive = static_cast<ReceiveRequest&>(posted);
    if (const base::Error* failure = failure_of(context, posted.source)) return failure;
    const base::Error* failure = failure_of(receive.address);
    if (failure == nullptr || !receive.outlives_failures) return failure;
    receive.set_failure_pending();
    return nullptr;
  };
  for (Matching& matching : context.queues) {
    while (PostedReceive* posted = matching.find_posted(
               [&](PostedReceive& receive) { return reason_of(receive) != nullptr; }))
      operations_.end(static_cast<ReceiveRequest&>(*posted), {posted->source, posted->tag, 0},
                      reason_of(*posted)->clone());
  }
}

}  // namespace shim::p2p
