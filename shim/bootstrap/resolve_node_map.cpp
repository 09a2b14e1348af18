// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/resolve_node_map.hpp"

#include <utility>

namespace shim::bootstrap {

base::Status resolve_node_map(Bootstrap& bootstrap) {
  SHIM_TRY_ASSIGN(auto map, bootstrap.query_node_map());
  bootstrap.set_node_map(std::move(map));
  return {};
}

base::Status resolve_node_map(Bootstrap& bootstrap, NodeSegment& segment, double timeout_s) {
  NodeOnce shared(segment, segment.node_map_storage(), timeout_s);
  SHIM_TRY_ASSIGN(const auto found, shared.get([&]() -> base::Result<Bytes> {
    SHIM_TRY_ASSIGN(const NodeMap map, bootstrap.query_node_map());
    return Bytes(map.bytes().begin(), map.bytes().end());
  }));
  auto map = NodeMap::over(found.bytes, found.own);
  if (!map || map->size() != bootstrap.job().size)
    return resolve_node_map(bootstrap);  // invalid bytes
  bootstrap.set_node_map(*std::move(map));
  return {};
}

}  // namespace shim::bootstrap
