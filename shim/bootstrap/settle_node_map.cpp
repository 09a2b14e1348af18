// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/settle_node_map.hpp"

#include <utility>

namespace shim::bootstrap {

base::Status settle_node_map(Bootstrap& bootstrap) {
  SHIM_TRY_ASSIGN(auto map, bootstrap.ask_node_map());
  bootstrap.settle_node_map(std::move(map));
  return {};
}

base::Status settle_node_map(Bootstrap& bootstrap, NodeSegment& segment, double patience_s) {
  FoundOnce shared(segment, segment.node_map_place(), patience_s);
  SHIM_TRY_ASSIGN(const auto found, shared.get([&]() -> base::Result<Bytes> {
    SHIM_TRY_ASSIGN(const NodeMap map, bootstrap.ask_node_map());
    return Bytes(map.bytes().begin(), map.bytes().end());
  }));
  auto map = NodeMap::over(found.bytes, found.own);
  if (!map || map->size() != bootstrap.job().size) return settle_node_map(bootstrap);  // bytes without sense
  bootstrap.settle_node_map(*std::move(map));
  return {};
}

}  // namespace shim::bootstrap
