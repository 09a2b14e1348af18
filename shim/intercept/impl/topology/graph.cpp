// SPDX-License-Identifier: BSD-3-Clause
// Implements graph topologies, in which each member knows the whole graph (MPI-4.1 §8.5.3, §8.5.5).
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/topology/topology_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;
using sessions::Graph;

/// Implement queries of a communicator with a graph.
template <typename Ask>
int query_graph(const char* function, MPI_Comm handle, Ask question) {
  auto find = [](const sessions::Communicator& comm) {
    return topology_of(comm, comm.graph(), "graph");
  };
  return query_topology(function, handle, find, question);
}

base::Result<std::vector<int>> neighbours(const sessions::Communicator& comm, const Graph& graph,
                                          int rank) {
  if (rank < 0 || rank >= comm.size()) return slow::bad_rank(comm, rank, "the");
  return graph.neighbours(rank);
}

}  // namespace

namespace impl {

int Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
                 MPI_Comm* comm_graph) {
  return derive("MPI_Graph_create", comm_old, comm_graph,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*parent));
                  SHIM_TRY_ASSIGN(Graph graph, get_graph(nnodes, indx, edges));
                  return sessions::graph_create(parent, graph, reorder != 0);
                });
}

int Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) {
  return query_graph("MPI_Graphdims_get", comm,
                     [&](sessions::Communicator&, const Graph& graph) -> base::Status {
                       SHIM_TRY(check_output(nnodes, "number of nodes"));
                       SHIM_TRY(check_output(nedges, "number of edges"));
                       *nnodes = static_cast<int>(graph.index.size());
                       *nedges = static_cast<int>(graph.edges.size());
                       return {};
                     });
}

int Graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]) {
  return query_graph("MPI_Graph_get", comm,
                     [&](sessions::Communicator&, const Graph& graph) -> base::Status {
                       SHIM_TRY(put_ints(graph.index, maxindex, indx, "index"));
                       return put_ints(graph.edges, maxedges, edges, "edges");
                     });
}

int Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) {
  return query_graph("MPI_Graph_neighbors_count", comm,
                     [&](sessions::Communicator& on, const Graph& graph) -> base::Status {
                       SHIM_TRY(check_output(nneighbors, "number of neighbors"));
                       SHIM_TRY_ASSIGN(std::vector<int> found, neighbours(on, graph, rank));
                       *nneighbors = static_cast<int>(found.size());
                       return {};
                     });
}

int Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
  return query_graph("MPI_Graph_neighbors", comm,
                     [&](sessions::Communicator& on, const Graph& graph) -> base::Status {
                       SHIM_TRY_ASSIGN(std::vector<int> found, neighbours(on, graph, rank));
                       return put_ints(found, maxneighbors, neighbors, "neighbors");
                     });
}

int Graph_map(MPI_Comm comm, int nnodes, const int indx[], const int edges[], int* newrank) {
  return run_with_handler(Subject::comm(comm), "MPI_Graph_map", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_intracomm(comm));
    if (nnodes < 1)
      return Error(ErrorClass::arg,
                   "the number of nodes " + std::to_string(nnodes) + " is not positive");
    SHIM_TRY_ASSIGN(Graph graph, get_graph(nnodes, indx, edges));
    SHIM_TRY(check_output(newrank, "rank"));
    SHIM_TRY_ASSIGN(const int rank, sessions::graph_map(*found, graph));
    *newrank = abi::to_mpi_rank(rank);
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
