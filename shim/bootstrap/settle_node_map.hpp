// SPDX-License-Identifier: BSD-3-Clause
// How a Bootstrap comes by its map of the nodes: one process of a node asks the launcher, and all see what it found.
#pragma once

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_segment.hpp"

namespace shim::bootstrap {

/// How long one waits for another process that asks; then one asks alone.
inline constexpr double kNodeMapPatienceSeconds = 1;

/// Local but for the patience. The segment, which has SegmentSpec::node_map_bytes for it, holds the map as long as anybody uses it.
/// Errors: those of ask_node_map.
base::Status settle_node_map(Bootstrap& bootstrap, NodeSegment& segment, double patience_s = kNodeMapPatienceSeconds);
/// For a process that meets no other on its node.
base::Status settle_node_map(Bootstrap& bootstrap);

}  // namespace shim::bootstrap
