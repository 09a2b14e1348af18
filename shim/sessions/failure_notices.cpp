// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/failure_notices.hpp"

#include <algorithm>
#include <utility>

#include "shim/sessions/creation_send.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

/// Failures that a process keeps for later status requests.
static constexpr std::size_t kMaxRecordedFailures = 32;
/// Failure messages that a process keeps.
static constexpr std::size_t kMaxQueuedFailures = 32;

void FailureNotices::record(const FailureMessage& failure, std::optional<base::ProcessId> parent) {
  recorded_.push_back(
      {failure, base::now_ns(), parent, parent ? *process_.peers().known_incarnation(*parent) : 0});
  if (recorded_.size() > kMaxRecordedFailures) recorded_.pop_front();
}

/// True if the requester may not know of the failure: it is the parent, in a later incarnation than
/// the notified one, or its wait began before the failure. A member that was notified and retries
/// began its wait after the failure. Marks the parent's incarnation as notified.
bool FailureNotices::may_be_unknown_to(RecordedFailure& recorded, base::ProcessId requester,
                                       const StatusRequest& request) {
  if (recorded.parent == requester &&
      request.requester.incarnation > recorded.notified_incarnation) {
    recorded.notified_incarnation = request.requester.incarnation;
    return true;
  }
  const base::Nanoseconds called = base::now_ns() -
                                   base::Nanoseconds{request.waited_ms} * 1'000'000;
  return recorded.when > called;
}

std::optional<FailureMessage> FailureNotices::recorded_for(base::ProcessId requester,
                                                           const StatusRequest& request) {
  const auto last = std::find_if(
      recorded_.rbegin(), recorded_.rend(),
      [&](const RecordedFailure& recorded) { return recorded.failure.key == request.key; });
  if (last == recorded_.rend() || !may_be_unknown_to(*last, requester, request))
    return std::nullopt;
  FailureMessage failure = last->failure;
  failure.call_id = request.call_id;
  return failure;
}

void FailureNotices::queue(base::ProcessId to, FailureMessage message) {
  queued_.push_back({to, std::move(message), process_.peers().look_up(to), base::now_ns()});
  if (queued_.size() > kMaxQueuedFailures) queued_.pop_front();
}

bool FailureNotices::send_if_found(QueuedFailure& queued) {
  if (!process_.peers().known_incarnation(queued.to)) {
    auto found = queued.lookup.poll();
    if (!found) return true;  // the launcher does not know the address: drop the message
    if (!*found) return false;
    if (!process_.peers().record_looked_up(queued.to, **found)) return true;
  }
  send_creation_message(process_, queued.to, queued.message);
  const CreationPtr failed = registry_.find(queued.message.key);
  if (failed && failed->failure())
    registry_.record_notified(failed, failed->group()->rank_of(queued.to));
  return true;
}

void FailureNotices::send_queued() {
  std::erase_if(queued_, [&](QueuedFailure& queued) { return send_if_found(queued); });
}

void FailureNotices::drop_queued(const CreationKey& key) {
  std::erase_if(queued_, [&](const QueuedFailure& queued) { return queued.message.key == key; });
}

bool FailureNotices::has_queued_since(base::Nanoseconds wait) const {
  return std::ranges::any_of(
      queued_, [&](const QueuedFailure& queued) { return base::now_ns() - queued.since < wait; });
}

}  // namespace shim::sessions
