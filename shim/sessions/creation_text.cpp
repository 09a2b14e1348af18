// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_text.hpp"

#include <cstdio>

#include "shim/sessions/process.hpp"

namespace shim::sessions {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

bool is_of_predefined_comm(const CreationKey& key) { return key.tag.starts_with(kPredefinedTag); }

std::string name_of(const Creation& creation) {
  if (is_of_predefined_comm(creation.key()))
    return "creation of " + creation.key().tag.substr(kPredefinedTag.size()) + " over group " +
           creation.group()->text();
  const std::string& topology = creation.key().topology;
  return "communicator creation with tag \"" + creation.key().tag + "\"" +
         (topology.empty() ? "" : " (" + topology + ")") + " over group " +
         creation.group()->text();
}

std::string describe_member(Process& process, const Creation& creation, int rank) {
  const base::ProcessId member = creation.process_at(rank);
  const auto& nodes = process.bootstrap().node_map();
  std::string text = "process " + std::to_string(member.rank) + " (rank " + std::to_string(rank) +
                     " of the group, node " + nodes.host(nodes.node_of(member.rank));
  if (process.node().is_local(member) && !process.node().has_session(member))
    text += process.node().has_finalized(member) ? ", has finalized its last session"
                                                 : ", has no session";
  return text + ")";
}

}  // namespace shim::sessions
