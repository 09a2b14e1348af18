// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators with a graph that all members know (MPI-4.1 §8.5.3).
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (int node = 0; node < static_cast<int>(graph.index.size()); ++node)
    for (int neighbour : graph.neighbours(node)) edges.push_back({node, neighbour, 1});
  return edges;
}

/// Return the members of the graph, in the order of their ranks in it.
base::Result<GroupPtr> members_of(const Graph& graph, const Group& group, bool reorder,
                                  Process& process) {
  SHIM_TRY(check_graph(graph, group.size()));
  if (graph.index.empty()) return Group::empty();
  SHIM_TRY_ASSIGN(
      GroupPtr first,
      range_include(group, std::vector<Triplet>{{0, static_cast<int>(graph.index.size()) - 1, 1}}));
  if (!reorder) return first;
  return include(*first, map_to_graph(*first, edges_of(graph), process.bootstrap().node_map()));
}

base::Result<CommunicatorPtr> with_graph(base::Result<CommunicatorPtr> made, const Graph& graph) {
  if (made && *made) (*made)->set_topology(graph);
  return made;
}

}  // namespace

base::Status check_graph(const Graph& graph, int processes) {
  const int nodes = static_cast<int>(graph.index.size());
  if (nodes > processes)
    return Error(ErrorClass::arg, "the graph has " + std::to_string(nodes) +
                                      " nodes, but the group has only " +
                                      std::to_string(processes) + " processes");
  int before = 0;
  for (std::size_t i = 0; i < graph.index.size(); before = graph.index[i++])
    if (graph.index[i] < before)
      return Error(ErrorClass::arg, "index[" + std::to_string(i) + "] is " +
                                        std::to_string(graph.index[i]) +
                                        ", less than the previous value " + std::to_string(before));
  for (std::size_t i = 0; i < graph.edges.size(); ++i)
    if (graph.edges[i] < 0 || graph.edges[i] >= nodes)
      return Error(ErrorClass::arg, "edges[" + std::to_string(i) + "] is " +
                                        std::to_string(graph.edges[i]) + ", not in 0…" +
                                        std::to_string(nodes - 1));
  return {};
}

base::Result<CommunicatorPtr> graph_create(const CommunicatorPtr& parent, const Graph& graph,
                                           bool reorder) {
  SHIM_TRY_ASSIGN(GroupPtr members,
                  members_of(graph, *parent->group(), reorder, parent->process()));
  return with_graph(derive(parent, members), graph);
}

base::Result<int> graph_map(const Communicator& comm, const Graph& graph) {
  SHIM_TRY_ASSIGN(GroupPtr members, members_of(graph, *comm.group(), true, comm.process()));
  return members->rank_of(comm.process().self());
}

base::Result<CommunicatorPtr> graph_create_from_group(const FromGroup& from, const Graph& graph,
                                                      bool reorder) {
  SHIM_TRY_ASSIGN(Process* const process, from.session->process());
  SHIM_TRY_ASSIGN(GroupPtr members, members_of(graph, *from.group, reorder, *process));
  const TopologyOfGroup topology{"graph of " + std::to_string(graph.index.size()) + " nodes and " +
                                     std::to_string(graph.edges.size()) + " edges" +
                                     (reorder ? ", reordered" : ""),
                                 std::move(members)};
  return with_graph(
      create_from_group(from.session, from.group, from.tag, from.info, from.handler, &topology),
      graph);
}

}  // namespace shim::sessions
