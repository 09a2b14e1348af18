// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/job_query.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/base/parsing.hpp"
#include "shim/bootstrap/pmix/requests.hpp"

namespace shim::bootstrap::pmix {
namespace {

using base::Error;
using base::ErrorClass;

constexpr std::uint32_t kNowhere = UINT32_MAX;

pmix_proc_t process_of(const pmix_proc_t& self, pmix_rank_t rank) {
  pmix_proc_t process = self;
  process.rank = rank;
  return process;
}

/// Frees a value of PMIx_Get; the keys used here have plain numbers and texts.
struct FreeValue {
  void operator()(pmix_value_t* value) const {
    if (value->type == PMIX_STRING) std::free(value->data.string);
    std::free(value);
  }
};
using Value = std::unique_ptr<pmix_value_t, FreeValue>;

/// Query only the client's own memory: a server may forward the request and wait (Slurm's does).
Value query(const PmixLibrary& library, const pmix_proc_t& process, const char* key,
            std::span<const pmix_info_t> qualifiers = {}) {
  std::vector<pmix_info_t> infos{flag(PMIX_OPTIONAL)};
  infos.insert(infos.end(), qualifiers.begin(), qualifiers.end());
  pmix_value_t* value = nullptr;
  if (library.get(&process, key, infos.data(), infos.size(), &value) != PMIX_SUCCESS)
    return nullptr;
  return Value(value);
}

std::optional<std::uint32_t> query_number(const PmixLibrary& library, const pmix_proc_t& process,
                                          const char* key) {
  const Value value = query(library, process, key);
  if (!value || value->type != PMIX_UINT32) return std::nullopt;
  return value->data.uint32;
}

std::optional<std::string> query_text(const PmixLibrary& library, const pmix_proc_t& process,
                                      const char* key,
                                      std::span<const pmix_info_t> qualifiers = {}) {
  const Value value = query(library, process, key, qualifiers);
  if (!value || value->type != PMIX_STRING || value->data.string == nullptr) return std::nullopt;
  return std::string(value->data.string);
}

/// Return the ranks of the job's processes on a node, as a list; nothing if they are not known.
/// Unlike PMIx_Resolve_peers, this never asks the server: Slurm's never answers, and PRRTE 3 prints
/// a message for each process that asks.
std::optional<std::string> peers_on(const PmixLibrary& library, const pmix_proc_t& self,
                                    const std::string& host) {
  const pmix_info_t qualifiers[] = {flag(PMIX_NODE_INFO), text_directive(PMIX_HOSTNAME, host)};
  return query_text(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_LOCAL_PEERS, qualifiers);
}

/// Return the node map with one call per node; nothing if the results do not place each process
/// exactly once.
std::optional<NodeMap> map_by_nodes(const PmixLibrary& library, const pmix_proc_t& self,
                                    std::uint32_t size) {
  const auto list = query_text(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_NODE_LIST);
  if (!list) return std::nullopt;
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> node_of(size, kNowhere);
  std::size_t placed = 0;
  for (const std::string_view name : base::parts_of(*list, ',')) {
    const std::string host(name);
    const auto peers = peers_on(library, self, host);
    if (!peers) return std::nullopt;
    const auto ranks = base::parts_of(*peers, ',');
    for (const std::string_view word : ranks) {
      const auto rank = base::to_number(word);
      if (!rank || *rank >= size || node_of[*rank] != kNowhere) return std::nullopt;
      node_of[*rank] = static_cast<std::uint32_t>(hosts.size());
    }
    placed += ranks.size();
    if (!ranks.empty()) hosts.push_back(host);
  }
  if (placed != size) return std::nullopt;
  return NodeMap(hosts, node_of);
}

/// Return the node map with one call per process.
base::Result<NodeMap> map_by_processes(const PmixLibrary& library, const pmix_proc_t& self,
                                       std::uint32_t size) {
  std::vector<std::string> hosts;
  std::map<std::string, std::uint32_t> number_of;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto host = query_text(library, process_of(self, rank), PMIX_HOSTNAME);
    if (!host)
      return Error(ErrorClass::other, "the launcher did not return the node of process " +
                                          std::to_string(rank) + " of job " + self.nspace +
                                          " (PMIX_HOSTNAME); use a launcher with PMIx 3 or later");
    auto [found, is_new] = number_of.emplace(*host, static_cast<std::uint32_t>(hosts.size()));
    if (is_new) hosts.push_back(*host);
    node_of.push_back(found->second);
  }
  return NodeMap(hosts, node_of);
}

/// Return the number of nodes of the job; nothing if the server does not report it. PRRTE 3.0.8
/// reports too many on all nodes but the first; its list of nodes is right.
std::optional<std::uint32_t> read_node_count(const PmixLibrary& library, const pmix_proc_t& all) {
  const auto count = query_number(library, all, PMIX_NUM_NODES);
  if (!count || *count <= 1) return count;
  const auto list = query_text(library, all, PMIX_NODE_LIST);
  if (!list) return count;
  return std::min(*count, static_cast<std::uint32_t>(base::parts_of(*list, ',').size()));
}

/// Return the location; nothing if the server does not report it.
std::optional<NodeLocation> read_location(const PmixLibrary& library, const pmix_proc_t& self,
                                          std::uint32_t size) {
  const pmix_proc_t all = process_of(self, PMIX_RANK_WILDCARD);
  auto host = query_text(library, self, PMIX_HOSTNAME);
  const auto peers = query_text(library, all, PMIX_LOCAL_PEERS);
  const auto nodes = read_node_count(library, all);
  if (!host || !peers || !nodes || *nodes == 0) return std::nullopt;
  NodeLocation location{*std::move(host), {}, *nodes};
  for (const std::string_view word : base::parts_of(*peers, ',')) {
    const auto rank = base::to_number(word);
    if (!rank || *rank >= size) return std::nullopt;
    location.local_ranks.push_back(*rank);
  }
  std::ranges::sort(location.local_ranks);
  if (std::ranges::adjacent_find(location.local_ranks) != location.local_ranks.end())
    return std::nullopt;
  return location.has(self.rank) ? std::optional(std::move(location)) : std::nullopt;
}

std::vector<std::uint32_t> read_app_numbers(const PmixLibrary& library, const pmix_proc_t& self,
                                            std::uint32_t size) {
  const auto count = query_number(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_JOB_NUM_APPS);
  if (count == 1u) return {};
  std::vector<std::uint32_t> numbers;
  bool several = false;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto number = query_number(library, process_of(self, rank), PMIX_APPNUM);
    if (!number) return {};
    numbers.push_back(*number);
    several = several || *number != numbers.front();
  }
  return several ? numbers : std::vector<std::uint32_t>{};
}

}  // namespace

base::Result<JobFacts> read_job(const PmixLibrary& library, const pmix_proc_t& self) {
  const auto size = query_number(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  if (!size || self.rank >= *size)
    return Error(ErrorClass::other, "the launcher did not return the size of job " +
                                        std::string(self.nspace) +
                                        " (PMIX_JOB_SIZE); use a launcher with PMIx 3 or later");
  JobFacts facts;
  facts.job = {self.nspace, self.rank, *size};
  facts.location = read_location(library, self, *size);
  facts.app_numbers = read_app_numbers(library, self, *size);
  return facts;
}

LaunchNumbers read_launch_numbers(const PmixLibrary& library, const pmix_proc_t& self) {
  return {query_number(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_UNIV_SIZE),
          query_number(library, self, PMIX_APPNUM)};
}

base::Result<NodeMap> read_node_map(const PmixLibrary& library, const pmix_proc_t& self,
                                    std::uint32_t size) {
  if (auto map = map_by_nodes(library, self, size)) return *std::move(map);
  return map_by_processes(library, self, size);
}

}  // namespace shim::bootstrap::pmix
