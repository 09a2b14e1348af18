// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/shared_node_map.hpp"

#include <utility>

#include "shim/bootstrap/resolve_node_map.hpp"
#include "shim/node/node_once.hpp"

namespace shim::sessions {

base::Status resolve_shared_node_map(bootstrap::Bootstrap& bootstrap, node::NodeSegment& segment,
                                     double timeout_s) {
  node::NodeOnce shared(segment, segment.node_map_storage(), timeout_s);
  SHIM_TRY_ASSIGN(const auto found, shared.get([&]() -> base::Result<node::NodeOnce::Bytes> {
    SHIM_TRY_ASSIGN(const bootstrap::NodeMap map, bootstrap.query_node_map());
    return node::NodeOnce::Bytes(map.bytes().begin(), map.bytes().end());
  }));
  auto map = bootstrap::NodeMap::over(found.bytes, found.own);
  if (!map || map->size() != bootstrap.job().size)
    return bootstrap::resolve_node_map(bootstrap);  // invalid bytes
  bootstrap.set_node_map(*std::move(map));
  return {};
}

}  // namespace shim::sessions
