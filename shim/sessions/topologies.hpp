// SPDX-License-Identifier: BSD-3-Clause
// Communicators with a topology (MPI-4.1 §8.5), made from communicators or straight from groups. Grids and graphs that everybody knows
// communicate as little as duplicate() or create_from_group() does: every member can compute every other's place. So do distributed
// graphs that are adjacent and keep the ranks. Arguments are checked inside.
//
// `reorder`, the same at all members: the ranks are placed so that fewer neighbours are on different nodes. Where that gains nothing,
// all stay.
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
/// Edges that one member knows of, whoever they belong to: source sources[i] has the next degrees[i] of destinations and weights.
struct EdgeList {
  std::vector<int> sources, degrees, destinations, weights;
  bool is_weighted = false;
};

/// Collective over the parent; null for ranks beyond the grid. Ranks also stay where nodes have different numbers of processes in the
/// grid. Errors: dims.
base::Result<CommunicatorPtr> cart_create(const CommunicatorPtr& parent, const CartesianArguments& arguments);
/// Errors: topology (no grid), dims.
base::Result<CommunicatorPtr> cart_sub(const CommunicatorPtr& comm, const std::vector<int>& remain);
/// The rank that the caller would have in cart_create with `reorder`; kUndefined beyond the grid. Local. Errors: dims.
base::Result<int> cart_map(const Communicator& comm, const std::vector<int>& dims, const std::vector<int>& periods);

/// Collective over the parent; null for ranks beyond the graph. Errors: arg (the graph is too large, or none).
base::Result<CommunicatorPtr> graph_create(const CommunicatorPtr& parent, const Graph& graph, bool reorder);
/// The rank that the caller would have in graph_create with `reorder`; kUndefined beyond the graph. Local. Errors: arg.
base::Result<int> graph_map(const Communicator& comm, const Graph& graph);
base::Status check_graph(const Graph& graph, int processes);

/// Collective over the parent; with `reorder`, and more nodes than one, everybody hears of all edges. Errors: rank (of a neighbour), arg
/// (a negative weight), and that of `graph`; the others make theirs nevertheless.
base::Result<CommunicatorPtr> dist_graph_create_adjacent(const CommunicatorPtr& parent, base::Result<DistributedGraph> graph, bool reorder);
/// Collective over the parent, two exchanges and those of the adjacent one. What is wrong at one member is an error at all.
/// Errors: rank, arg, and that of `edges`.
base::Result<CommunicatorPtr> dist_graph_create(const CommunicatorPtr& parent, base::Result<EdgeList> edges, bool reorder);

/// What create_from_group takes.
struct FromGroup {
  SessionPtr session;
  GroupPtr group;
  std::string tag;
  InfoPtr info;
  ErrorHandlerPtr handler;
};
// The same straight from groups: one creation among those who get the communicator, and no communicator without a topology before
// it (the Sessions paper of 2016, §3.6). Errors: those of create_from_group besides.
base::Result<CommunicatorPtr> cart_create_from_group(const FromGroup& from, const CartesianArguments& arguments);
base::Result<CommunicatorPtr> graph_create_from_group(const FromGroup& from, const Graph& graph, bool reorder);
base::Result<CommunicatorPtr> dist_graph_create_adjacent_from_group(const FromGroup& from, base::Result<DistributedGraph> graph,
                                                                    bool reorder);
base::Result<CommunicatorPtr> dist_graph_create_from_group(const FromGroup& from, base::Result<EdgeList> edges, bool reorder);

/// Group ranks by node, nodes in the order of their first members.
std::vector<std::vector<int>> members_by_node(const Group& group, const bootstrap::NodeMap& nodes);
/// Which member of the group is to have which rank in the grid: group ranks in the order of the grid's. Neighbours share nodes where
/// that helps. The same at all members.
std::vector<int> place_in_grid(const Group& group, const std::vector<int>& dims, const std::vector<int>& periods,
                               const bootstrap::NodeMap& nodes);
struct Edge {
  int from, to;
  std::int64_t weight;
};
/// The same for a graph with as many vertices as the group has members.
std::vector<int> place_in_graph(const Group& group, const std::vector<Edge>& edges, const bootstrap::NodeMap& nodes);

}  // namespace shim::sessions
