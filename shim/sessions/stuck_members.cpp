// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/stuck_members.hpp"

#include <algorithm>

#include "shim/sessions/creation_text.hpp"
#include "shim/sessions/disagreement.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

using base::Error;
using base::ErrorClass;

/// 1 s between two queries of a member that should be stuck long enough by now but has not replied.
static constexpr base::Nanoseconds kQueryRepeat = 1'000'000'000;

void StuckMembers::on_reply(int rank, const StatusReply& reply) {
  const Creation& mine = context_.creation;
  const auto has_other_tag = [&](const CreationKey& key) {
    return differs_by_tag(mine.key(), key);
  };
  const auto other = std::ranges::find_if(reply.waiting, has_other_tag);
  const bool is_elsewhere = reply.missing.empty() && other != reply.waiting.end() &&
                            context_.registry.is_plausible(*other, mine.process_at(rank), false);
  // another thread of this process in that creation may end it, so that the member can join
  if (!is_elsewhere || context_.registry.is_waiting_in(*other)) {
    members_.erase(rank);
    return;
  }
  const base::Nanoseconds now = base::now_ns();
  StuckMember& stuck = members_[rank];
  stuck.elsewhere = *other;
  stuck.since = std::max(mine.started(), now - base::Nanoseconds{reply.quiet_ms} * 1'000'000);
  stuck.until = now;
}

/// Record which missing members have finalized their last session, and erase those that
/// re-initialized.
void StuckMembers::record_finalized(base::Nanoseconds now) {
  std::erase_if(members_, [&](const auto& known) {
    return !known.second.elsewhere && !liveness_.has_finalized(known.first);
  });
  for (int rank : context_.creation.missing_members()) {
    if (!liveness_.has_finalized(rank)) continue;
    auto& stuck = members_.try_emplace(rank, StuckMember{.elsewhere = {}, .since = now})
                      .first->second;
    if (stuck.elsewhere) stuck = {.elsewhere = {}, .since = now};
    stuck.until = now;
  }
}

/// Query all missing members once, stuck_after() after the start, whatever the report interval is.
/// Query a member in another creation again if its last reply came before it had been there for
/// stuck_after().
void StuckMembers::query(base::Nanoseconds now) {
  const base::Nanoseconds enough = context_.process.stuck_after();
  if (!has_queried_all_ && now >= context_.creation.started() + enough) {
    has_queried_all_ = true;
    report_.query_missing_members();
  }
  for (auto& [rank, stuck] : members_) {
    const bool is_open = stuck.elsewhere && now >= stuck.since + enough &&
                         stuck.until < stuck.since + enough;
    if (!is_open || now < stuck.last_query + kQueryRepeat) continue;
    stuck.last_query = now;
    report_.query(rank);
  }
}

bool StuckMembers::is_stuck(int rank) const {
  const auto known = members_.find(rank);
  if (known == members_.end() ||
      known->second.until - known->second.since < context_.process.stuck_after())
    return false;
  return !known->second.elsewhere || !context_.registry.is_waiting_in(*known->second.elsewhere);
}

/// Return the error of a creation in which all missing members are stuck.
Error StuckMembers::error() const {
  const Creation& creation = context_.creation;
  const std::string time = seconds_text(static_cast<double>(context_.process.stuck_after()) * 1e-9);
  const auto finalized = std::ranges::find_if(
      members_, [](const auto& known) { return !known.second.elsewhere; });
  if (finalized == members_.end()) {
    const auto& [rank, waiting] = *members_.begin();
    return Error(ErrorClass::not_same, disagreement_on_tag(context_, *waiting.elsewhere, rank) +
                                           "; neither has begun another creation for " + time);
  }
  // the reason first: an MPI error string may truncate the rest
  return Error(ErrorClass::proc_aborted,
               "process " + std::to_string(creation.process_at(finalized->first).rank) +
                   " finalized its last session and has not begun another for " + time + ": " +
                   name_of(creation) + " cannot complete; create a group without that process");
}

std::optional<Finding> StuckMembers::find(base::Nanoseconds now) {
  record_finalized(now);
  query(now);
  const auto missing = context_.creation.missing_members();
  const auto is_stuck = [&](int rank) { return this->is_stuck(rank); };
  if (missing.empty() || !std::ranges::all_of(missing, is_stuck)) return std::nullopt;
  std::erase_if(members_, [&](const auto& known) {
    return std::ranges::find(missing, known.first) == missing.end();
  });
  Finding found{error()};
  for (const auto& [rank, known] : members_) {
    if (!known.elsewhere) continue;
    found.excluded.elsewhere.push_back({0, context_.creation.process_at(rank).rank, 1, 1});
    found.elsewhere.emplace_back(rank, *known.elsewhere);
  }
  return found;
}

}  // namespace shim::sessions
