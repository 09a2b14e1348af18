// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/resolve_node_map.hpp"

#include <utility>

namespace shim::bootstrap {

base::Status resolve_node_map(Bootstrap& bootstrap) {
  SHIM_TRY_ASSIGN(auto map, bootstrap.query_node_map());
  bootstrap.set_node_map(std::move(map));
  return {};
}

}  // namespace shim::bootstrap
