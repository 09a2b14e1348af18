// SPDX-License-Identifier: BSD-3-Clause
// Converts topology arguments of functions that make communicators. Used for creation from
// communicators and from groups.
#pragma once

#include <vector>

#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::intercept {

/// Copy the first n ints of a user's array. Errors: arg (null), dims (n negative).
base::Result<std::vector<int>> copy_ints(const int* values, int n, const char* what,
                                         base::ErrorClass negative = base::ErrorClass::dims);
/// Copy as many values as the caller has room for (MPI-4.1 §8.5.5). Errors: arg (room negative,
/// null).
base::Status put_ints(const std::vector<int>& values, int capacity, int* to, const char* what);

base::Result<sessions::CartesianArguments> get_cartesian(int ndims, const int* dims,
                                                         const int* periods, int reorder);
base::Result<sessions::Graph> get_graph(int nnodes, const int* index, const int* edges);
base::Result<sessions::DistributedGraph> copy_adjacent(int indegree, const int* sources,
                                                       const int* source_weights, int outdegree,
                                                       const int* destinations,
                                                       const int* destination_weights);
base::Result<sessions::EdgeList> copy_edges(int n, const int* sources, const int* degrees,
                                            const int* destinations, const int* weights);

/// Return a communicator's topology. Errors: topology (it has none of this kind).
template <typename Topology>
base::Result<const Topology*> topology_of(const sessions::Communicator& comm,
                                          const Topology* topology, const char* kind) {
  if (topology != nullptr) return topology;
  return base::Error(base::ErrorClass::topology,
                     "the " + comm.description() + " has no " + kind + " topology");
}

/// Implement topology queries: find(communicator) returns the topology, question(communicator,
/// topology) the result.
template <typename Find, typename Question>
int query_topology(const char* function, MPI_Comm handle, Find find, Question question) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, get_comm(handle));
    SHIM_TRY_ASSIGN(const auto* topology, find(*comm));
    return question(*comm, *topology);
  });
}

}  // namespace shim::intercept
