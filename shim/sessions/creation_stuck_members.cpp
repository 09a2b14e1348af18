// SPDX-License-Identifier: BSD-3-Clause
// Fails a creation if this process knows all missing members to be stuck. Each of them has
// finalized its last session, or waits in a creation of an equal group with another tag and has
// begun no other creation. A process that computes, or has not begun a session yet, is not stuck: a
// creation waits for it without limit.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// 1 s between two queries of a member that should be stuck long enough by now but has not replied.
constexpr base::Nanoseconds kQueryRepeat = 1'000'000'000;

}  // namespace

bool Creations::has_finalized(const TrackedCreation& creation, int rank) const {
  const base::ProcessId process = creation.group()->at(rank);
  if (process_.is_local(process)) return process_.has_finalized(process);
  const auto probe = creation.probes.find(rank);
  return probe != creation.probes.end() && probe->second.is_between_sessions();
}

/// Record which missing members have finalized their last session, and erase those that
/// re-initialized.
void Creations::record_finalized(TrackedCreation& creation, base::Nanoseconds now) {
  std::erase_if(creation.stuck_members, [&](const auto& known) {
    return !known.second.elsewhere && !has_finalized(creation, known.first);
  });
  for (int rank : creation.missing_members()) {
    if (!has_finalized(creation, rank)) continue;
    auto& stuck = creation.stuck_members
                      .try_emplace(rank,
                                   TrackedCreation::StuckMember{.elsewhere = {}, .since = now})
                      .first->second;
    if (stuck.elsewhere) stuck = {.elsewhere = {}, .since = now};
    stuck.until = now;
  }
}

/// Query all missing members once, stuck_after() after the start, whatever the report interval is.
/// Query a member in another creation again if its last reply came before it had been there for
/// stuck_after().
void Creations::query_stuck_members(TrackedCreation& creation, base::Nanoseconds now) {
  const base::Nanoseconds enough = process_.stuck_after();
  if (!creation.has_queried_all && now >= creation.started() + enough) {
    creation.has_queried_all = true;
    query_missing_members(creation);
  }
  for (auto& [rank, stuck] : creation.stuck_members) {
    const bool is_open = stuck.elsewhere && now >= stuck.since + enough &&
                         stuck.until < stuck.since + enough;
    if (!is_open || now < stuck.last_query + kQueryRepeat) continue;
    stuck.last_query = now;
    send_status_request(creation, rank);
  }
}

base::Error Creations::error_of_stuck(const TrackedCreation& creation) const {
  const auto& [rank, stuck] = *std::ranges::find_if(
      creation.stuck_members, [](const auto& known) { return !known.second.elsewhere; });
  const std::string time = seconds_text(static_cast<double>(process_.stuck_after()) * 1e-9);
  // the reason first: an MPI error string may truncate the rest
  return Error(ErrorClass::proc_aborted,
               "process " + std::to_string(creation.group()->at(rank).rank) +
                   " finalized its last session and has not begun another for " + time + ": " +
                   name_of(creation) + " cannot complete; create a group without that process");
}

bool Creations::fail_if_all_missing_are_stuck(const CreationPtr& creation) {
  const base::Nanoseconds now = base::now_ns(), enough = process_.stuck_after();
  record_finalized(*creation, now);
  query_stuck_members(*creation, now);
  const auto missing = creation->missing_members();
  const auto is_stuck = [&](int rank) {
    const auto known = creation->stuck_members.find(rank);
    if (known == creation->stuck_members.end() ||
        known->second.until - known->second.since < enough)
      return false;
    return !known->second.elsewhere || !is_in(*known->second.elsewhere);
  };
  if (missing.empty() || !std::ranges::all_of(missing, is_stuck)) return false;
  std::erase_if(creation->stuck_members, [&](const auto& known) {
    return std::ranges::find(missing, known.first) == missing.end();
  });
  const auto waiting = std::ranges::find_if(creation->stuck_members, [](const auto& known) {
    return known.second.elsewhere.has_value();
  });
  const bool all_wait = std::ranges::all_of(creation->stuck_members, [](const auto& known) {
    return known.second.elsewhere.has_value();
  });
  const std::string time = seconds_text(static_cast<double>(enough) * 1e-9);
  const Error error = all_wait ? Error(ErrorClass::not_same,
                                       disagreement_on_tag(*creation, *waiting->second.elsewhere,
                                                           waiting->first) +
                                           "; neither has begun another creation for " + time)
                               : error_of_stuck(*creation);
  ExcludedMembers excluded;
  const auto stuck = creation->stuck_members;
  for (const auto& [rank, known] : stuck) {
    if (!known.elsewhere) continue;
    excluded.elsewhere.push_back({0, creation->group()->at(rank).rank, 1, 1});
    fail_other(*creation, *known.elsewhere, rank, error);
  }
  fail(creation, error, {creation->roles().self}, excluded);
  return true;
}

}  // namespace shim::sessions
