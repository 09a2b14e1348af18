// SPDX-License-Identifier: BSD-3-Clause
// Sets the node map of a Bootstrap.
#pragma once

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Set the node map of the Bootstrap to the launcher's. Errors: as query_node_map().
base::Status resolve_node_map(Bootstrap& bootstrap);

}  // namespace shim::bootstrap
