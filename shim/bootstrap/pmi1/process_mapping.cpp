// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/process_mapping.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

struct MappingBlock {
  std::uint32_t first_node = 0, nodes = 0, processes = 0;
};

bool skip(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

/// Parse the number before the next `end`, and remove both.
std::optional<std::uint32_t> number_up_to(std::string_view& rest, char end) {
  const auto at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = to_number(rest.substr(0, at));
  rest.remove_prefix(at + 1);
  return number;
}

std::optional<std::vector<MappingBlock>> parse_blocks(std::string_view rest) {
  std::vector<MappingBlock> blocks;
  if (!skip(rest, "(vector")) return std::nullopt;
  while (skip(rest, ",(")) {
    const auto first = number_up_to(rest, ','), nodes = number_up_to(rest, ','),
               processes = number_up_to(rest, ')');
    if (!first || !nodes || !processes || *nodes == 0 || *processes == 0) return std::nullopt;
    blocks.push_back({*first, *nodes, *processes});
  }
  if (rest != ")" || blocks.empty()) return std::nullopt;
  return blocks;
}

/// Return the launcher's node number of each rank.
std::vector<std::uint32_t> rank_to_node(const std::vector<MappingBlock>& blocks,
                                        std::uint32_t size) {
  std::vector<std::uint32_t> node_of;
  while (node_of.size() < size)
    for (const MappingBlock& block : blocks)
      for (std::uint32_t node = 0; node < block.nodes && node_of.size() < size; ++node)
        node_of.insert(node_of.end(), std::min<std::size_t>(block.processes, size - node_of.size()),
                       block.first_node + node);
  return node_of;
}

}  // namespace

base::Result<NodeMap> parse_process_mapping(std::string_view text, std::uint32_t size,
                                            std::string_view host) {
  const auto blocks = parse_blocks(text);
  if (!blocks)
    return base::Error(
        base::ErrorClass::other,
        "the launcher returned an invalid node map (PMI_process_mapping): \"" + shown(text) + "\"");
  std::vector<std::uint32_t> node_of = rank_to_node(*blocks, size);
  std::map<std::uint32_t, std::uint32_t> index_of;  // node numbers may have gaps
  for (auto node : node_of) index_of.emplace(node, 0);
  std::vector<std::string> hosts;
  for (auto& [node, index] : index_of) {
    index = static_cast<std::uint32_t>(hosts.size());
    hosts.push_back(index_of.size() == 1 ? std::string(host) : "node" + std::to_string(node));
  }
  for (auto& node : node_of) node = index_of[node];
  return NodeMap(hosts, node_of);
}

}  // namespace shim::bootstrap::pmi1
