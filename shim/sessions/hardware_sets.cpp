// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/hardware_sets.hpp"

#include <map>
#include <utility>

#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

void add_kind(std::vector<NamedGroup>& sets, const node::HardwareMap& map, std::string_view type,
              const std::string& prefix, std::span<const std::uint32_t> ranks,
              const std::vector<node::CoreSet>& cores) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> members;
  for (std::size_t slot = 0; slot < ranks.size(); ++slot)
    if (const auto instance = map.instance_of(type, cores[slot]))
      members[*instance].push_back(ranks[slot]);
  for (const auto& [instance, of_instance] : members)
    sets.push_back({prefix + std::to_string(instance), Group::of_ranks(of_instance)});
}

}  // namespace

std::vector<NamedGroup> hardware_sets(node::NodeHardware& hardware, const bootstrap::NodeMap& nodes,
                                      std::uint32_t own_rank) {
  const auto cores = hardware.first_cores();
  if (!cores) return {};
  const auto map = hardware.map();
  if (!map) return {};
  const std::uint32_t node = nodes.node_of(own_rank);
  std::vector<NamedGroup> sets;
  for (const auto& [type, prefix] :
       {std::pair{"NUMANode", kNumaPrefix}, std::pair{"Package", kSocketPrefix}})
    add_kind(sets, **map, type, std::string(prefix) + nodes.host(node) + "/", nodes.ranks_on(node),
             *cores);
  return sets;
}

}  // namespace shim::sessions
