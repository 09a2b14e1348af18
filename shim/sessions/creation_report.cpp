// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_report.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "shim/sessions/creation_send.hpp"
#include "shim/sessions/creation_text.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// Missing members are queried 1 s before a report, or half the report interval if that is shorter.
constexpr base::Nanoseconds kQueryLead = 1'000'000'000;
/// Missing members are queried every 10 s if there are no reports.
constexpr base::Nanoseconds kQueryInterval = 10'000'000'000;
/// Queries in the time of INTERSESSION_CREATE_TIMEOUT: different tags need two replies.
constexpr double kQueriesBeforeTimeout = 2;
/// Members that a report names; the rest is counted.
constexpr std::size_t kMaxNames = 16;

}  // namespace

void CreationReport::report_when_due(base::Nanoseconds now) {
  const Creation& creation = context_.creation;
  const double seconds = base::creation_report_interval(context_.process.settings());
  const bool is_reported = seconds > 0;
  const auto interval = is_reported ? static_cast<base::Nanoseconds>(seconds * 1e9)
                                    : kQueryInterval;
  const double timeout = context_.process.settings().create_timeout;
  const auto query_interval = timeout > 0
                                  ? std::min(interval, static_cast<base::Nanoseconds>(
                                                           timeout * 1e9 / kQueriesBeforeTimeout))
                                  : interval;
  const base::Nanoseconds ahead = std::min(kQueryLead, query_interval / 2);
  if (next_report_ == 0) {
    next_report_ = creation.started() + interval;
    next_query_ = creation.started() + query_interval - ahead;
  }
  if (now >= next_query_) {
    next_query_ += query_interval;
    query_missing_members();
  }
  if (now < next_report_) return;
  next_report_ = now + interval;
  next_query_ = now + query_interval - ahead;
  if (!is_reported) return;
  const double waited = static_cast<double>(now - creation.started()) * 1e-9;
  context_.process.log().write(
      base::LogLevel::warn,
      name_of(creation) + " has waited " + seconds_text(waited) + " for " + describe_missing());
}

void CreationReport::query_missing_members() {
  Process& process = context_.process;
  for (int rank : context_.creation.missing_members()) {
    const base::ProcessId member = context_.creation.process_at(rank);
    if (process.node().is_local(member)) {
      if (process.node().has_session(member)) query(rank);  // without a session no reply would come
    } else if (process.peers().known_incarnation(member)) {
      query(rank);
    } else if (!to_query_.contains(rank)) {
      to_query_.emplace(rank, process.peers().look_up(member));
    }
  }
}

void CreationReport::query(int rank) {
  Process& process = context_.process;
  const Creation& creation = context_.creation;
  const base::ProcessId member = creation.process_at(rank);
  const base::Nanoseconds waited = base::now_ns() - creation.started();
  StatusRequest request{
      creation.key(), creation.own_call_id(), static_cast<std::uint32_t>(waited / 1'000'000), {}};
  if (!process.node().is_local(member))
    if (auto own = process.peers().own_address()) request.requester = *std::move(own);
  send_creation_message(process, member, request);
}

std::optional<Finding> CreationReport::query_found_members() {
  for (auto at = to_query_.begin(); at != to_query_.end();) {
    auto found = at->second.poll();
    if (found && !*found) {
      ++at;
      continue;
    }
    const int rank = at->first;
    const base::ProcessId member = context_.creation.process_at(rank);
    at = to_query_.erase(at);
    if (!found) continue;  // the report has no reply
    const auto recorded = context_.process.peers().record_looked_up(member, **found);
    if (recorded)
      query(rank);
    else if ((*found)->kind == PublishedAddress::Kind::reason)
      return Finding{
          base::Error(base::ErrorClass::other,
                      name_of(context_.creation) + " cannot complete: " + recorded.error().text())};
  }
  return std::nullopt;
}

void CreationReport::record_reply(int rank, std::string state) {
  last_replies_[rank] = {std::move(state), base::now_ns()};
}

/// Return the last known state of a member.
std::string CreationReport::liveness_text(int rank) const {
  if (liveness_.is_between_sessions(rank)) return ", which has ended its session";
  const auto reply = last_replies_.find(rank);
  if (reply != last_replies_.end()) {
    char ago[32];
    std::snprintf(ago, sizeof ago, " (%.2g s ago)",
                  static_cast<double>(base::now_ns() - reply->second.when) * 1e-9);
    return ", which " + reply->second.what + ago;
  }
  Process& process = context_.process;
  const base::ProcessId member = context_.creation.process_at(rank);
  if (to_query_.contains(rank))
    return ", no message received yet: it has published no address, so it has created no "
           "communicator across nodes, or runs without Intersession";
  if (!process.node().is_local(member)) {
    const std::string reason = process.engine().link_failure_reason(member);
    return ", no message received yet" + (reason.empty() ? "" : ": " + reason);
  }
  if (process.node().has_session(member)) return ", which has a session and has not answered yet";
  if (process.node().has_finalized(member))
    return "; it cannot join unless it opens a session again";
  return (is_of_predefined_comm(context_.creation.key())
              ? "; either it has not called MPI_Init with Intersession and "
                "INTERSESSION_WORLD=sessions"
              : "; either it has not opened a session") +
         std::string(", or it does not share ") + process.node().folder() +
         " with this process (then set INTERSESSION_TRANSPORT=fabric)";
}

std::string CreationReport::describe_missing() const {
  const auto missing = context_.creation.missing_members();
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMaxNames); ++i) {
    text += (i ? ", " : "") + describe_member(context_.process, context_.creation, missing[i]);
    text += liveness_text(missing[i]);
  }
  if (missing.size() > kMaxNames)
    text += " and " + std::to_string(missing.size() - kMaxNames) + " more";
  return text.empty() ? "the launcher (no member is missing)" : text;
}

}  // namespace shim::sessions
