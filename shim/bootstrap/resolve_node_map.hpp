// SPDX-License-Identifier: BSD-3-Clause
// Sets the node map of a Bootstrap with one query to the launcher per node.
#pragma once

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {

/// Limit for waiting for another process's query; afterwards this process queries the launcher
/// itself.
inline constexpr double kNodeMapTimeoutSeconds = 1;

/// Set the node map of the Bootstrap; the first process of the node queries the launcher and
/// publishes the result in the segment. Blocks for at most timeout_s besides its own query. The
/// segment needs SegmentSpec::node_map_bytes and must outlive all uses of the map. Errors: as
/// query_node_map().
base::Status resolve_node_map(Bootstrap& bootstrap, NodeSegment& segment,
                              double timeout_s = kNodeMapTimeoutSeconds);
/// Set the node map for a process that does not use a segment.
base::Status resolve_node_map(Bootstrap& bootstrap);

}  // namespace shim::bootstrap
