// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/job_query.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "shim/bootstrap/pmix/letters.hpp"
#include "shim/bootstrap/to_number.hpp"

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

/// Frees what PMIx_Get gave; the keys asked for here have plain numbers and texts.
struct FreeValue {
  void operator()(pmix_value_t* value) const {
    if (value->type == PMIX_STRING) std::free(value->data.string);
    std::free(value);
  }
};
using Value = std::unique_ptr<pmix_value_t, FreeValue>;

/// Asks the client's own memory only: a server may pass the question on and wait (Slurm's does).
Value ask(const Library& library, const pmix_proc_t& process, const char* key) {
  const pmix_info_t optional = flag(PMIX_OPTIONAL);
  pmix_value_t* value = nullptr;
  if (library.get(&process, key, &optional, 1, &value) != PMIX_SUCCESS) return nullptr;
  return Value(value);
}

std::optional<std::uint32_t> ask_number(const Library& library, const pmix_proc_t& process, const char* key) {
  const Value value = ask(library, process, key);
  if (!value || value->type != PMIX_UINT32) return std::nullopt;
  return value->data.uint32;
}

std::optional<std::string> ask_text(const Library& library, const pmix_proc_t& process, const char* key) {
  const Value value = ask(library, process, key);
  if (!value || value->type != PMIX_STRING || value->data.string == nullptr) return std::nullopt;
  return std::string(value->data.string);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    auto comma = std::min(list.find(','), list.size());
    if (comma > 0) words.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

/// One call per node. Nothing where the answers do not place each process exactly once.
std::optional<NodeMap> map_by_nodes(const Library& library, const pmix_proc_t& self, std::uint32_t size) {
  // Slurm's server lets PMIx_Resolve_peers wait for ever.
  if (std::string_view(self.nspace).starts_with("slurm.")) return std::nullopt;
  const auto list = ask_text(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_NODE_LIST);
  if (!list) return std::nullopt;
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> node_of(size, kNowhere);
  std::uint32_t placed = 0;
  for (const auto& host : split(*list)) {
    pmix_proc_t* peers = nullptr;
    std::size_t count = 0;
    if (library.resolve_peers(host.c_str(), self.nspace, &peers, &count) != PMIX_SUCCESS) return std::nullopt;
    const std::unique_ptr<pmix_proc_t, decltype(&std::free)> owner(peers, &std::free);
    if (count == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (peers[i].rank >= size || node_of[peers[i].rank] != kNowhere) return std::nullopt;
      node_of[peers[i].rank] = static_cast<std::uint32_t>(hosts.size());
    }
    placed += static_cast<std::uint32_t>(count);
    hosts.push_back(host);
  }
  if (placed != size) return std::nullopt;
  return NodeMap(hosts, node_of);
}

/// One call per process.
base::Result<NodeMap> map_by_processes(const Library& library, const pmix_proc_t& self, std::uint32_t size) {
  std::vector<std::string> hosts;
  std::map<std::string, std::uint32_t> number_of;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto host = ask_text(library, process_of(self, rank), PMIX_HOSTNAME);
    if (!host)
      return Error(ErrorClass::other, "the launcher does not say on which node process " + std::to_string(rank) +
                                          " of job " + self.nspace +
                                          " runs (PMIX_HOSTNAME); it needs a PMIx server of version 3 or newer");
    auto [found, is_new] = number_of.emplace(*host, static_cast<std::uint32_t>(hosts.size()));
    if (is_new) hosts.push_back(*host);
    node_of.push_back(found->second);
  }
  return NodeMap(hosts, node_of);
}

/// Nothing where it is not told, or cannot be.
std::optional<Place> read_place(const Library& library, const pmix_proc_t& self, std::uint32_t size) {
  const pmix_proc_t all = process_of(self, PMIX_RANK_WILDCARD);
  auto host = ask_text(library, self, PMIX_HOSTNAME);
  const auto peers = ask_text(library, all, PMIX_LOCAL_PEERS);
  const auto nodes = ask_number(library, all, PMIX_NUM_NODES);
  if (!host || !peers || !nodes || *nodes == 0) return std::nullopt;
  Place place{*std::move(host), {}, *nodes};
  for (const std::string& word : split(*peers)) {
    const auto rank = to_number(word);
    if (!rank || *rank >= size) return std::nullopt;
    place.local_ranks.push_back(*rank);
  }
  std::ranges::sort(place.local_ranks);
  if (std::ranges::adjacent_find(place.local_ranks) != place.local_ranks.end()) return std::nullopt;
  return place.has(self.rank) ? std::optional(std::move(place)) : std::nullopt;
}

std::vector<std::uint32_t> read_app_numbers(const Library& library, const pmix_proc_t& self, std::uint32_t size) {
  const auto count = ask_number(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_JOB_NUM_APPS);
  if (count == 1u) return {};
  std::vector<std::uint32_t> numbers;
  bool several = false;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const auto number = ask_number(library, process_of(self, rank), PMIX_APPNUM);
    if (!number) return {};
    numbers.push_back(*number);
    several = several || *number != numbers.front();
  }
  return several ? numbers : std::vector<std::uint32_t>{};
}

}  // namespace

base::Result<JobFacts> read_job(const Library& library, const pmix_proc_t& self) {
  const auto size = ask_number(library, process_of(self, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  if (!size || self.rank >= *size)
    return Error(ErrorClass::other, "the launcher does not say how many processes job " + std::string(self.nspace) +
                                        " has (PMIX_JOB_SIZE); it needs a PMIx server of version 3 or newer");
  JobFacts facts;
  facts.job = {self.nspace, self.rank, *size};
  facts.place = read_place(library, self, *size);
  facts.app_numbers = read_app_numbers(library, self, *size);
  return facts;
}

base::Result<NodeMap> read_node_map(const Library& library, const pmix_proc_t& self, std::uint32_t size) {
  if (auto map = map_by_nodes(library, self, size)) return *std::move(map);
  return map_by_processes(library, self, size);
}

}  // namespace shim::bootstrap::pmix
