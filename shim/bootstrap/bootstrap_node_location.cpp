// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

std::uint32_t NodeLocation::slot_of(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(local_ranks, rank) -
                                    local_ranks.begin());
}

bool NodeLocation::has(std::uint32_t rank) const {
  return std::ranges::binary_search(local_ranks, rank);
}

NodeLocation location_in(const NodeMap& map, std::uint32_t rank) {
  const std::uint32_t node = map.node_of(rank);
  const auto ranks = map.ranks_on(node);
  return {map.host(node), {ranks.begin(), ranks.end()}, map.node_count()};
}

NodeLocation Bootstrap::location() const { return location_in(node_map(), job().rank); }

}  // namespace shim::bootstrap
