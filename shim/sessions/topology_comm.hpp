// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators with a topology (MPI-4.1 §8.5), from communicators or from groups. Grids,
// graphs, and adjacent distributed graphs without reordering communicate only as much as
// duplicate() or create_from_group(), because every member can compute all positions. Arguments are
// checked inside.
//
// `reorder`, equal at all members: place ranks so that fewer neighbors are on different nodes. If
// that gains nothing, ranks stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shim/sessions/communicator.hpp"
#include "shim/sessions/topology.hpp"

namespace shim::bootstrap {
class NodeMap;
}

namespace shim::sessions {

struct CartesianArguments {
  std::vector<int> dims, periods;
  bool reorder = false;
};
/// Edges that one member specifies, of any vertices: source sources[i] has the next degrees[i] of
/// destinations and weights.
struct EdgeList {
  std::vector<int> sources, degrees, destinations, weights;
  bool is_weighted = false;
};

/// Collective over the parent; null for ranks beyond the grid. Ranks also stay if nodes have
/// different numbers of processes in the grid. Errors: dims.
base::Result<CommunicatorPtr> cart_create(const CommunicatorPtr& parent,
                                          const CartesianArguments& arguments);
/// Errors: topology (no grid), dims.
base::Result<CommunicatorPtr> cart_sub(const CommunicatorPtr& comm, const std::vector<int>& remain);
/// Return the caller's rank in cart_create with `reorder`; kUndefined beyond the grid. Local.
/// Errors: dims.
base::Result<int> cart_map(const Communicator& comm, const std::vector<int>& dims,
                           const std::vector<int>& periods);

/// Collective over the parent; null for ranks beyond the graph. Errors: arg (graph too large, or
/// invalid).
base::Result<CommunicatorPtr> graph_create(const CommunicatorPtr& parent, const Graph& graph,
                                           bool reorder);
/// Return the caller's rank in graph_create with `reorder`; kUndefined beyond the graph. Local.
/// Errors: arg.
base::Result<int> graph_map(const Communicator& comm, const Graph& graph);
base::Status check_graph(const Graph& graph, int processes);

/// Collective over the parent; with `reorder` and several nodes, an exchange of all edges. Errors:
/// rank (of a neighbor), arg (negative weight), and the error in `graph`; the other members still
/// get their communicators.
base::Result<CommunicatorPtr> dist_graph_create_adjacent(const CommunicatorPtr& parent,
                                                         base::Result<DistributedGraph> graph,
                                                         bool reorder);
/// Collective over the parent: two exchanges, plus those of dist_graph_create_adjacent. An error at
/// one member is an error at all. Errors: rank, arg, and the error in `edges`.
base::Result<CommunicatorPtr> dist_graph_create(const CommunicatorPtr& parent,
                                                base::Result<EdgeList> edges, bool reorder);

/// Arguments of create_from_group.
struct FromGroup {
  SessionPtr session;
  GroupPtr group;
  std::string tag;
  InfoPtr info;
  ErrorHandlerPtr handler;
};
// Create directly from groups: one creation among the members of the communicator, and no
// intermediate communicator without a topology (the Sessions paper of 2016, §3.6). Errors: also
// those of create_from_group.
base::Result<CommunicatorPtr> cart_create_from_group(const FromGroup& from,
                                                     const CartesianArguments& arguments);
base::Result<CommunicatorPtr> graph_create_from_group(const FromGroup& from, const Graph& graph,
                                                      bool reorder);
base::Result<CommunicatorPtr> dist_graph_create_adjacent_from_group(
    const FromGroup& from, base::Result<DistributedGraph> graph, bool reorder);
base::Result<CommunicatorPtr> dist_graph_create_from_group(const FromGroup& from,
                                                           base::Result<EdgeList> edges,
                                                           bool reorder);

/// Return group ranks by node, nodes in the order of their first members.
std::vector<std::vector<int>> members_by_node(const Group& group, const bootstrap::NodeMap& nodes);
/// Return the group ranks in grid order, placed so that neighbors share nodes if that helps. Equal
/// at all members.
std::vector<int> map_to_grid(const Group& group, const std::vector<int>& dims,
                             const std::vector<int>& periods, const bootstrap::NodeMap& nodes);
struct Edge {
  int from, to;
  std::int64_t weight;
};
/// Return the group ranks in vertex order, for a graph with one vertex per member.
std::vector<int> map_to_graph(const Group& group, const std::vector<Edge>& edges,
                              const bootstrap::NodeMap& nodes);

}  // namespace shim::sessions
