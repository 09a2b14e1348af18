// SPDX-License-Identifier: BSD-3-Clause
// Implements distributed graph topologies (MPI-4.1 §8.5.4, §8.5.5). No hint is supported.
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/topology/topology_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;
using sessions::DistributedGraph;

template <typename Ask>
int ask(const char* function, MPI_Comm handle, Ask question) {
  auto find = [](const sessions::Communicator& comm) {
    return topology_of(comm, comm.distributed_graph(), "distributed graph");
  };
  return query_topology(function, handle, find,
                        [&](const sessions::Communicator&, const DistributedGraph& graph) {
                          return question(graph);
                        });
}

/// Return take()'s result, or an error of the info: the creation gets either, so that no other
/// process waits for this member.
template <typename Take>
auto with_info(MPI_Info info, Take take) -> decltype(take()) {
  SHIM_TRY(copy_info(info));
  return take();
}

/// Store the weights if the graph has them and the caller requests them.
base::Status put_weights(const DistributedGraph& graph, const std::vector<int>& weights,
                         int capacity, int* to) {
  const bool is_wanted = graph.is_weighted && to != abi::unweighted() && to != abi::weights_empty();
  return is_wanted ? put_ints(weights, capacity, to, "weights") : base::Status();
}

}  // namespace

namespace impl {

int Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                               const int sourceweights[], int outdegree, const int destinations[],
                               const int destweights[], MPI_Info info, int reorder,
                               MPI_Comm* comm_dist_graph) {
  return derive("MPI_Dist_graph_create_adjacent", comm_old, comm_dist_graph,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*parent));
                  auto graph = with_info(info, [&] {
                    return copy_adjacent(indegree, sources, sourceweights, outdegree, destinations,
                                         destweights);
                  });
                  return sessions::dist_graph_create_adjacent(parent, std::move(graph),
                                                              reorder != 0);
                });
}

int Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                      const int destinations[], const int weights[], MPI_Info info, int reorder,
                      MPI_Comm* comm_dist_graph) {
  return derive("MPI_Dist_graph_create", comm_old, comm_dist_graph,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*parent));
                  auto edges = with_info(
                      info, [&] { return copy_edges(n, sources, degrees, destinations, weights); });
                  return sessions::dist_graph_create(parent, std::move(edges), reorder != 0);
                });
}

int Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
  return ask("MPI_Dist_graph_neighbors_count", comm,
             [&](const DistributedGraph& graph) -> base::Status {
               SHIM_TRY(check_output(indegree, "number of sources"));
               SHIM_TRY(check_output(outdegree, "number of destinations"));
               SHIM_TRY(check_output(weighted, "flag"));
               *indegree = static_cast<int>(graph.sources.size());
               *outdegree = static_cast<int>(graph.destinations.size());
               *weighted = graph.is_weighted;
               return {};
             });
}

int Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
                         int maxoutdegree, int destinations[], int destweights[]) {
  return ask("MPI_Dist_graph_neighbors", comm, [&](const DistributedGraph& graph) -> base::Status {
    SHIM_TRY(put_ints(graph.sources, maxindegree, sources, "sources"));
    SHIM_TRY(put_weights(graph, graph.source_weights, maxindegree, sourceweights));
    SHIM_TRY(put_ints(graph.destinations, maxoutdegree, destinations, "destinations"));
    return put_weights(graph, graph.destination_weights, maxoutdegree, destweights);
  });
}

}  // namespace impl
}  // namespace shim::intercept
