// SPDX-License-Identifier: BSD-3-Clause
// Who is missing in a creation, in words for the user.
#include <algorithm>
#include <cstdio>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {
/// A report names so many and counts the rest.
constexpr std::size_t kMostNames = 16;
}  // namespace

std::string Creations::seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string Creations::name_of(const Creation& creation) {
  return "the creation with tag \"" + creation.key.tag + "\" over the group " +
         creation.group->text();
}

std::string Creations::describe(const Creation& creation, int rank) const {
  const base::ProcessId process = creation.group->at(rank);
  const auto& nodes = process_.bootstrap().node_map();
  std::string text = "process " + std::to_string(process.rank) + " (rank " + std::to_string(rank) + " of the group, node " +
                     nodes.host(nodes.node_of(process.rank));
  if (process_.is_local(process) && !process_.has_session(process)) text += ", has no session";
  return text + ")";
}

/// The last one that there was.
std::string Creations::sign_of_life(const Creation& creation, int rank) const {
  const auto inquiry = creation.inquiries.find(rank);
  if (inquiry != creation.inquiries.end() && inquiry->second.is_between_sessions()) return ", which has ended its session";
  const auto heard = creation.heard.find(rank);
  if (heard != creation.heard.end()) {
    char ago[32];
    std::snprintf(ago, sizeof ago, " (%.2g s ago)", static_cast<double>(base::now_ns() - heard->second.when) * 1e-9);
    return ", which " + heard->second.what + ago;
  }
  const base::ProcessId process = creation.group->at(rank);
  if (creation.to_be_asked.contains(rank))
    return ", no sign of life yet: it has no address for other nodes, so it has created no communicator over nodes, or runs without Intersession";
  if (!process_.is_local(process)) {
    const std::string reason = process_.engine().why_lost(process);
    return ", no sign of life yet" + (reason.empty() ? "" : ": " + reason);
  }
  if (process_.has_session(process)) return ", which has a session and has not answered yet";
  return ", or does not share " + process_.shared_memory_folder() + " with this process (INTERSESSION_TRANSPORT=fabric needs none)";
}

std::string Creations::describe_missing(const Creation& creation) const {
  const auto missing = waited_for(creation);
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNames); ++i) {
    text += (i ? ", " : "") + describe(creation, missing[i]);
    text += sign_of_life(creation, missing[i]);
  }
  if (missing.size() > kMostNames) text += " and " + std::to_string(missing.size() - kMostNames) + " more";
  return text.empty() ? "nobody in particular: the launcher" : text;
}

}  // namespace shim::sessions
