// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/process_mapping.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

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

/// Remove a number from the front of the text, and return it; nothing if it exceeds INT32_MAX.
std::optional<std::uint32_t> take_number(std::string_view& rest) {
  const auto number = base::take_number<std::uint32_t>(rest);
  return number && *number <= INT32_MAX ? number : std::nullopt;
}

/// Remove a block from the front of the text, and return it: "(first,nodes,processes)", or the
/// number of a node with one process.
std::optional<MappingBlock> take_block(std::string_view& rest) {
  if (!rest.starts_with("(")) {
    const auto node = take_number(rest);
    return node ? std::optional(MappingBlock{*node, 1, 1}) : std::nullopt;
  }
  MappingBlock block;
  const std::pair<std::string_view, std::uint32_t*> fields[] = {
      {"(", &block.first_node}, {",", &block.nodes}, {",", &block.processes}};
  for (const auto& [before, field] : fields) {
    const auto number = skip(rest, before) ? take_number(rest) : std::nullopt;
    if (!number) return std::nullopt;
    *field = *number;
  }
  if (!skip(rest, ")") || block.nodes == 0 || block.processes == 0) return std::nullopt;
  return block;
}

/// Append the repeated blocks `begin...end` of the list until it has `most` blocks: each block
/// places a process.
void repeat(std::vector<MappingBlock>& blocks, std::size_t begin, std::uint32_t times,
            std::size_t most) {
  const std::vector<MappingBlock> once(blocks.begin() + static_cast<std::ptrdiff_t>(begin),
                                       blocks.end());
  for (std::uint32_t i = 1; i < times && blocks.size() < most; ++i)
    blocks.insert(blocks.end(), once.begin(), once.end());
}

std::optional<std::vector<MappingBlock>> parse_blocks(std::string_view rest, std::uint32_t size) {
  std::vector<MappingBlock> blocks;
  if (!skip(rest, "(vector")) return std::nullopt;
  while (skip(rest, ",")) {
    const std::size_t begin = blocks.size();
    const bool is_list = skip(rest, "[");
    do {
      const auto block = take_block(rest);
      if (!block) return std::nullopt;
      blocks.push_back(*block);
    } while (is_list && skip(rest, ","));
    if (!is_list) continue;
    const auto times = skip(rest, "]x") ? take_number(rest) : std::nullopt;
    if (!times || *times == 0) return std::nullopt;
    repeat(blocks, begin, *times, size);
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
  const auto blocks = parse_blocks(text, size);
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
