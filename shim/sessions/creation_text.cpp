// SPDX-License-Identifier: BSD-3-Clause
// Formats the missing members of a creation for the user.
#include <algorithm>
#include <cstdio>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {
/// Members that a report names; the rest is counted.
constexpr std::size_t kMaxNames = 16;
}  // namespace

std::string Creations::seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string Creations::name_of(const TrackedCreation& creation) {
  const std::string& topology = creation.key().topology;
  return "communicator creation with tag \"" + creation.key().tag + "\"" +
         (topology.empty() ? "" : " (" + topology + ")") + " over group " +
         creation.group()->text();
}

std::string Creations::describe(const TrackedCreation& creation, int rank) const {
  const base::ProcessId process = creation.group()->at(rank);
  const auto& nodes = process_.bootstrap().node_map();
  std::string text = "process " + std::to_string(process.rank) + " (rank " + std::to_string(rank) +
                     " of the group, node " + nodes.host(nodes.node_of(process.rank));
  if (process_.is_local(process) && !process_.has_session(process))
    text += process_.has_finalized(process) ? ", has finalized its last session"
                                            : ", has no session";
  return text + ")";
}

/// Return the last known state of a member.
std::string Creations::liveness_text(const TrackedCreation& creation, int rank) const {
  const auto probe = creation.probes.find(rank);
  if (probe != creation.probes.end() && probe->second.is_between_sessions())
    return ", which has ended its session";
  const auto reply = creation.last_replies.find(rank);
  if (reply != creation.last_replies.end()) {
    char ago[32];
    std::snprintf(ago, sizeof ago, " (%.2g s ago)",
                  static_cast<double>(base::now_ns() - reply->second.when) * 1e-9);
    return ", which " + reply->second.what + ago;
  }
  const base::ProcessId process = creation.group()->at(rank);
  if (creation.to_query.contains(rank))
    return ", no message received yet: it has published no address, so it has created no "
           "communicator across nodes, or runs without Intersession";
  if (!process_.is_local(process)) {
    const std::string reason = process_.engine().link_failure_reason(process);
    return ", no message received yet" + (reason.empty() ? "" : ": " + reason);
  }
  if (process_.has_session(process)) return ", which has a session and has not answered yet";
  if (process_.has_finalized(process)) return "; it cannot join unless it opens a session again";
  return "; either it has not opened a session, or it does not share " +
         process_.shared_memory_folder() +
         " with this process (then set INTERSESSION_TRANSPORT=fabric)";
}

std::string Creations::describe_missing(const TrackedCreation& creation) const {
  const auto missing = creation.missing_members();
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMaxNames); ++i) {
    text += (i ? ", " : "") + describe(creation, missing[i]);
    text += liveness_text(creation, missing[i]);
  }
  if (missing.size() > kMaxNames)
    text += " and " + std::to_string(missing.size() - kMaxNames) + " more";
  return text.empty() ? "the launcher (no member is missing)" : text;
}

}  // namespace shim::sessions
