// SPDX-License-Identifier: BSD-3-Clause
// Formats the sections about the job: launcher, nodes, process sets.
#include <map>

#include "shim/info/info.hpp"

namespace shim::info {
namespace {

constexpr const char* kNotKnown = "unknown: the launcher does not respond";

/// Describe the launcher by the name of its Bootstrap backend.
std::string backend_text(std::string_view name) {
  if (name == "mpirun") return "mpirun, with all processes on this node";
  if (name == "pmix") return "speaks PMIx";
  if (name == "pmi1") return "speaks PMI-1";
  if (name == "singleton") return "none: a world of one process";
  return std::string(name);
}

/// Return the ranks of each application of an MPMD launch as text: "0: 0-1; 1: 2-3" (application
/// number, ranks).
std::string applications_text(const JobFacts& facts) {
  if (facts.app_numbers.empty())
    return facts.backend == "pmi1" ? "unknown: PMI-1 has no such information" : "one";
  std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < facts.app_numbers.size(); ++rank)
    ranks[facts.app_numbers[rank]].push_back(rank);
  std::string text;
  for (const auto& [number, members] : ranks)
    text += (text.empty() ? "" : "; ") + std::to_string(number) + ": " + ranks_text(members);
  return text;
}

}  // namespace

Section launcher_section(const base::Result<JobFacts>& facts,
                         const base::Result<base::LoadedLibrary>& pmix) {
  Section section{"launcher", {}};
  if (facts) {
    section.add("launcher", backend_text(facts->backend));
    if (!facts->warning.empty()) section.add("warning", facts->warning);
    section.add("world", facts->job.world_name);
    section.add("processes", std::to_string(facts->job.size) + "; this is rank " +
                                 std::to_string(facts->job.rank));
    section.add("applications", applications_text(*facts));
  } else {
    section.add("error", facts.error().text());
  }
  section.add("PMIx library", pmix ? pmix->version : "not found: " + pmix.error().text());
  if (pmix) section.add("", pmix->file);
  return section;
}

Section nodes_section(const base::Result<JobFacts>& facts) {
  Section section{"nodes", {}};
  if (!facts) section.add("error", kNotKnown);
  for (std::uint32_t node = 0; facts && node < facts->node_map.node_count(); ++node)
    section.add(facts->node_map.host(node) + ":", ranks_text(facts->node_map.ranks_on(node)));
  return section;
}

Section sets_section(const base::Result<JobFacts>& facts) {
  Section section{"process sets", {}};
  if (!facts) {
    section.add("error", kNotKnown);
    return section;
  }
  for (const auto& [name, members] : facts->sets) section.add(name, members);
  return section;
}

}  // namespace shim::info
