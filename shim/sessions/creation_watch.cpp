// SPDX-License-Identifier: BSD-3-Clause
// Watches a waiting creation: detects dead members, reports missing ones, and enforces the
// time-out.
#include <algorithm>
#include <utility>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// Missing members are queried 1 s before a report, or half the report interval if that is shorter.
constexpr base::Nanoseconds kQueryLead = 1'000'000'000;
/// A creation searches /proc for missing members after 0.3 s: a scan takes milliseconds.
constexpr base::Nanoseconds kSearchedAfter = 300'000'000;
/// Missing members are queried every 10 s if there are no reports.
constexpr base::Nanoseconds kQueryInterval = 10'000'000'000;
/// Shared memory of the node's processes is compared 0.5 s after the start, then every second: a
/// check looks at all processes of the node. The creation fails 2.5 s after the first finding, so
/// that the other side detects it, too.
constexpr base::Nanoseconds kMemoryCheckedAfter = 500'000'000, kMemoryCheckedEvery = 1'000'000'000,
                            kMemoryGrace = 2'500'000'000;
/// Extra wait per tree level, so that the process that waits for the missing member itself times
/// out first and names it: a quarter of the time-out, at most 0.5 s.
constexpr double kGracePart = 0.25, kMaxGrace = 0.5;

/// Failure messages that a process keeps.
constexpr std::size_t kMaxQueuedFailures = 32;

}  // namespace

void Creations::check_waiting(const CreationPtr& creation) {
  const base::Nanoseconds now = base::now_ns();
  if (now < creation->next_check) return;
  creation->next_check = now + kCreationCheckInterval;
  send_queued_failures();
  const double waited = static_cast<double>(now - creation->started()) * 1e-9;
  if (fail_if_member_died(creation) || fail_on_disagreement(creation)) return;
  if (fail_if_all_missing_are_stuck(creation) || fail_on_timeout(creation, waited)) return;
  if (fail_on_separate_shared_memory(creation, now)) return;
  query_found_members(*creation);
  report_when_due(*creation, now);
}

bool Creations::fail_if_member_died(const CreationPtr& creation) {
  if (process_.has_lost_launcher()) {
    fail(creation,
         Error(ErrorClass::proc_aborted,
               name_of(*creation) + " cannot complete: the launcher of this job has exited"),
         {creation->roles().self});
    return true;
  }
  for (int rank : creation->missing_members()) {
    if (!has_ended(*creation, rank)) continue;
    // a message sent before its end may be unread: check again after the next poll
    if (std::exchange(creation->suspected_dead, rank) != rank) return false;
    const Error error(ErrorClass::proc_aborted,
                      name_of(*creation) + " cannot complete: " + describe(*creation, rank) +
                          " is no longer running");
    const ExcludedMembers excluded{.elsewhere = {},
                                   .dead = {{0, creation->group()->at(rank).rank, 1, 1}}};
    if (!creation->roles().is_node_leader()) notify_for_node_leader(*creation, error, excluded);
    fail(creation, error, {creation->roles().self}, excluded);
    return true;
  }
  return false;
}

bool Creations::has_ended(TrackedCreation& creation, int rank) {
  const base::ProcessId process = creation.group()->at(rank);
  if (process_.is_local(process)) {
    if (!process_.is_running(process)) return true;
    const base::Nanoseconds waited = base::now_ns() - creation.started();
    return waited >= kSearchedAfter && process_.ended_before_attaching(process);
  }
  if (process_.is_out_of_reach(process))
    return probe_says_ended(creation, rank, *process_.known_incarnation(process));
  creation.probes.erase(rank);
  return false;
}

bool Creations::probe_says_ended(TrackedCreation& creation, int rank, std::uint32_t incarnation) {
  const base::ProcessId process = creation.group()->at(rank);
  auto known = creation.probes.find(rank);
  if (known != creation.probes.end() && known->second.incarnation() != incarnation)
    creation.probes.erase(rank);
  const double silence = process_.has_published(process, incarnation)
                             ? process_.settings().ready_timeout
                             : 0;
  LivenessProbe& probe = creation.probes
                             .try_emplace(rank, process_.bootstrap(), process.rank, incarnation,
                                          silence)
                             .first->second;
  if (auto newer = probe.newer_address()) {
    (void)process_.record_looked_up_address(process, *newer);  // an invalid address changes nothing
    return false;
  }
  return probe.poll() == LivenessProbe::Verdict::has_ended;
}

/// Notify the partners of this node's dead node leader on other nodes: its parent and its children.
/// Only this node knows of the death; its first living member notifies. (A surplus message that
/// matches a later creation with an equal key is harmless: that creation cannot succeed either.)
void Creations::notify_for_node_leader(const TrackedCreation& creation, const base::Error& error,
                                       const ExcludedMembers& excluded) {
  const auto& group = *creation.group();
  const auto of_root = roles_in(group, group.at(creation.roles().node_leader),
                                process_.creation_context());
  // a member without a session cannot send, living or not
  const auto first = std::find_if(of_root.local.begin(), of_root.local.end(), [&](int rank) {
    return process_.has_session(group.at(rank)) && process_.is_running(group.at(rank));
  });
  if (first == of_root.local.end() || *first != creation.roles().self) return;
  std::vector<int> others = of_root.children;
  if (of_root.parent) others.push_back(*of_root.parent);
  for (int rank : others)
    queue_failure(group.at(rank), {creation.key(), 0, error.error_class(), error.text(), excluded});
}

/// Send a failure once the address of `to` is found; a process that has not published its address
/// gets it after it does.
void Creations::queue_failure(base::ProcessId to, FailureMessage message) {
  queued_failures_.push_back(
      {to, std::move(message), process_.look_up_address(to), base::now_ns()});
  if (queued_failures_.size() > kMaxQueuedFailures) queued_failures_.pop_front();
}

void Creations::send_queued_failures() {
  std::erase_if(queued_failures_, [&](QueuedFailure& failure_entry) {
    if (!process_.known_incarnation(failure_entry.to)) {
      auto found = failure_entry.lookup.poll();
      if (!found) return true;  // the launcher does not know the address: drop the message
      if (!*found) return false;
      if (!process_.record_looked_up_address(failure_entry.to, **found)) return true;
    }
    send(failure_entry.to, failure_entry.message);
    const CreationPtr failed = find(failure_entry.message.key);
    if (failed && failed->failure())
      record_notified(failed, failed->group()->rank_of(failure_entry.to));
    return true;
  });
}

bool Creations::fail_on_timeout(const CreationPtr& creation, double waited) {
  const auto& roles = creation->roles();
  const double timeout = process_.settings().create_timeout;
  // a process that has sent its contribution up waits for the whole tree
  const int levels = creation->state() == CreationState::awaiting_outcome ? roles.tree_height + 1
                                                                          : roles.height;
  if (timeout <= 0 || waited <= timeout + std::min(kGracePart * timeout, kMaxGrace) * levels)
    return false;
  fail(creation,
       Error(ErrorClass::other,
             name_of(*creation) + " timed out after " + seconds_text(timeout) +
                 " (INTERSESSION_CREATE_TIMEOUT); missing: " + describe_missing(*creation)),
       {roles.self});
  return true;
}

/// Detect a process of this node that attached to separate shared memory: it and this process would
/// never find each other.
bool Creations::fail_on_separate_shared_memory(const CreationPtr& creation, base::Nanoseconds now) {
  if (creation->next_memory_check == 0)
    creation->next_memory_check = creation->started() + kMemoryCheckedAfter;
  if (now < creation->next_memory_check) return false;
  creation->next_memory_check = now + kMemoryCheckedEvery;
  const auto missing = creation->missing_members();
  const auto excluded = std::ranges::find_if(missing, [&](int rank) {
    const base::ProcessId process = creation->group()->at(rank);
    return process_.is_local(process) && !process_.has_session(process);
  });
  if (excluded == missing.end()) return false;
  if (creation->other_memory_since == 0 && process_.sees_other_shared_memory())
    creation->other_memory_since = now;
  if (creation->other_memory_since == 0 || now < creation->other_memory_since + kMemoryGrace)
    return false;
  fail(
      creation,
      Error(ErrorClass::other, describe(*creation, *excluded) +
                                   " is unreachable: the processes of this node do not share one " +
                                   process_.shared_memory_folder() +
                                   "; share it, or set INTERSESSION_TRANSPORT=fabric"),
      {creation->roles().self});
  return true;
}

/// Query missing members, also to detect unreachable processes (has_ended), and report them when
/// due.
void Creations::report_when_due(TrackedCreation& creation, base::Nanoseconds now) {
  const double seconds = base::creation_report_interval(process_.settings());
  const bool is_reported = seconds > 0;
  const auto interval = is_reported ? static_cast<base::Nanoseconds>(seconds * 1e9)
                                    : kQueryInterval;
  const base::Nanoseconds ahead = std::min(kQueryLead, interval / 2);
  if (creation.next_report == 0) {
    creation.next_report = creation.started() + interval;
    creation.next_query = creation.next_report - ahead;
  }
  if (now >= creation.next_query) {
    creation.next_query += interval;
    query_missing_members(creation);
  }
  if (now < creation.next_report) return;
  creation.next_report = now + interval;
  creation.next_query = creation.next_report - ahead;
  if (!is_reported) return;
  const double waited = static_cast<double>(now - creation.started()) * 1e-9;
  process_.log().write(base::LogLevel::warn, name_of(creation) + " has waited " +
                                                 seconds_text(waited) + " for " +
                                                 describe_missing(creation));
}

void Creations::query_missing_members(TrackedCreation& creation) {
  for (int rank : creation.missing_members()) {
    const base::ProcessId process = creation.group()->at(rank);
    if (process_.is_local(process)) {
      if (process_.has_session(process))
        send_status_request(creation, rank);  // without a session no reply would come
    } else if (process_.known_incarnation(process)) {
      send_status_request(creation, rank);
    } else {
      if (!creation.to_query.contains(rank))
        creation.to_query.emplace(rank, process_.look_up_address(process));
    }
  }
}

void Creations::send_status_request(TrackedCreation& creation, int rank) {
  const base::Nanoseconds waited = base::now_ns() - creation.started();
  StatusRequest request{
      creation.key(), creation.own_call(), static_cast<std::uint32_t>(waited / 1'000'000), {}};
  if (!process_.is_local(creation.group()->at(rank)))
    if (auto own = process_.own_address()) request.requester = *std::move(own);
  send(creation, rank, request);
}

void Creations::query_found_members(TrackedCreation& creation) {
  for (auto at = creation.to_query.begin(); at != creation.to_query.end();) {
    auto found = at->second.poll();
    if (found && !*found) {
      ++at;
      continue;
    }
    // on failure the report has no reply
    if (found && process_.record_looked_up_address(creation.group()->at(at->first), **found))
      send_status_request(creation, at->first);
    at = creation.to_query.erase(at);
  }
}

}  // namespace shim::sessions
