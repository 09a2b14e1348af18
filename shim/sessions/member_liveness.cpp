// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/member_liveness.hpp"

#include <algorithm>
#include <utility>

#include "shim/sessions/creation_text.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// A creation searches /proc for missing members after 0.3 s: a scan takes milliseconds.
constexpr base::Nanoseconds kSearchedAfter = 300'000'000;
/// Shared memory of the node's processes is compared 0.5 s after the start, then every second: a
/// check looks at all processes of the node. The creation fails 2.5 s after the first finding, so
/// that the other side detects it, too.
constexpr base::Nanoseconds kMemoryCheckedAfter = 500'000'000, kMemoryCheckedEvery = 1'000'000'000,
                            kMemoryGrace = 2'500'000'000;

}  // namespace

std::optional<Finding> MemberLiveness::find_dead() {
  const Creation& creation = context_.creation;
  if (context_.process.has_lost_launcher())
    return Finding{
        Error(ErrorClass::proc_aborted,
              name_of(creation) + " cannot complete: the launcher of this job has exited")};
  for (int rank : creation.missing_members()) {
    if (!has_ended(rank)) continue;
    // a message sent before its end may be unread: check again after the next poll
    if (std::exchange(suspected_dead_, rank) != rank) return std::nullopt;
    return Finding{
        .error = Error(ErrorClass::proc_aborted,
                       name_of(creation) + " cannot complete: " +
                           describe_member(context_.process, creation, rank) +
                           " is no longer running"),
        .excluded = {.elsewhere = {}, .dead = {{0, creation.process_at(rank).rank, 1, 1}}},
        .node_leader_is_dead = !creation.roles().is_node_leader()};
  }
  return std::nullopt;
}

bool MemberLiveness::has_ended(int rank) {
  Process& process = context_.process;
  const base::ProcessId member = context_.creation.process_at(rank);
  if (process.node().is_local(member)) {
    if (!process.node().is_running(member)) return true;
    const base::Nanoseconds waited = base::now_ns() - context_.creation.started();
    return waited >= kSearchedAfter && process.node().ended_before_attaching(member);
  }
  if (process.peers().is_out_of_reach(member))
    return probe_finds_end(rank, *process.peers().known_incarnation(member));
  probes_.erase(rank);
  return false;
}

bool MemberLiveness::probe_finds_end(int rank, std::uint32_t incarnation) {
  Process& process = context_.process;
  const base::ProcessId member = context_.creation.process_at(rank);
  const auto known = probes_.find(rank);
  if (known != probes_.end() && known->second.incarnation() != incarnation) probes_.erase(rank);
  const double silence = process.peers().has_published(member, incarnation)
                             ? process.settings().ready_timeout
                             : 0;
  LivenessProbe& probe = probes_
                             .try_emplace(rank, process.bootstrap(), member.rank, incarnation,
                                          silence)
                             .first->second;
  if (auto newer = probe.newer_address()) {
    (void)process.peers().record_looked_up(member, *newer);  // an invalid address changes nothing
    return false;
  }
  return probe.poll() == LivenessProbe::Verdict::has_ended;
}

std::optional<Finding> MemberLiveness::find_separate_memory(base::Nanoseconds now) {
  Process& process = context_.process;
  const Creation& creation = context_.creation;
  if (next_memory_check_ == 0) next_memory_check_ = creation.started() + kMemoryCheckedAfter;
  if (now < next_memory_check_) return std::nullopt;
  next_memory_check_ = now + kMemoryCheckedEvery;
  const auto missing = creation.missing_members();
  const auto excluded = std::ranges::find_if(missing, [&](int rank) {
    const base::ProcessId member = creation.process_at(rank);
    return process.node().is_local(member) && !process.node().has_session(member);
  });
  if (excluded == missing.end()) return std::nullopt;
  if (other_memory_since_ == 0 && process.node().sees_other_memory()) other_memory_since_ = now;
  if (other_memory_since_ == 0 || now < other_memory_since_ + kMemoryGrace) return std::nullopt;
  return Finding{
      Error(ErrorClass::other, describe_member(process, creation, *excluded) +
                                   " is unreachable: the processes of this node do not share one " +
                                   process.node().folder() +
                                   "; share it, or set INTERSESSION_TRANSPORT=fabric")};
}

bool MemberLiveness::has_finalized(int rank) const {
  const base::ProcessId member = context_.creation.process_at(rank);
  return context_.process.node().is_local(member) ? context_.process.node().has_finalized(member)
                                                  : is_between_sessions(rank);
}

bool MemberLiveness::is_between_sessions(int rank) const {
  const auto probe = probes_.find(rank);
  return probe != probes_.end() && probe->second.is_between_sessions();
}

}  // namespace shim::sessions
