// SPDX-License-Identifier: BSD-3-Clause
// Sets the node map of a Bootstrap with one query to the launcher per node.
#pragma once

#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/node/node_segment.hpp"

namespace shim::sessions {

/// Limit for waiting for another process's query; afterwards this process queries the launcher
/// itself.
inline constexpr double kNodeMapTimeoutSeconds = 1;

/// Set the node map of the Bootstrap; the first process of the node queries the launcher and
/// publishes the result in the segment. Blocks for at most timeout_s besides its own query. The
/// segment needs SegmentSpec::node_map_bytes and must outlive all uses of the map. Errors: as
/// query_node_map().
base::Status resolve_shared_node_map(bootstrap::Bootstrap& bootstrap, node::NodeSegment& segment,
                                     double timeout_s = kNodeMapTimeoutSeconds);

}  // namespace shim::sessions
