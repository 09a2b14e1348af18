// SPDX-License-Identifier: BSD-3-Clause
// Topologies as arguments, for both ways to make communicators with one: from communicators and from groups.
#pragma once

#include <vector>

#include "shim/intercept/bodies/communicators.hpp"
#include "shim/sessions/topologies.hpp"

namespace shim::intercept {

/// The first n ints of a user's array. Errors: arg (null), dims (n negative).
base::Result<std::vector<int>> take_ints(const int* values, int n, const char* what,
                                         base::ErrorClass negative = base::ErrorClass::dims);
/// Copies as much as the caller has room for (MPI-4.1 §8.5.5). Errors: arg (room negative, null).
base::Status put_ints(const std::vector<int>& values, int room, int* to, const char* what);

base::Result<sessions::CartesianArguments> take_cartesian(int ndims, const int* dims, const int* periods, int reorder);
base::Result<sessions::Graph> take_graph(int nnodes, const int* index, const int* edges);
base::Result<sessions::DistributedGraph> take_adjacent(int indegree, const int* sources, const int* source_weights, int outdegree,
                                                       const int* destinations, const int* destination_weights);
base::Result<sessions::EdgeList> take_edges(int n, const int* sources, const int* degrees, const int* destinations,
                                            const int* weights);

/// A communicator's topology, or that it has none of this kind. Errors: topology.
template <typename Topology>
base::Result<const Topology*> topology_of(const sessions::Communicator& comm, const Topology* topology, const char* kind) {
  if (topology != nullptr) return topology;
  return base::Error(base::ErrorClass::topology, "the " + comm.description() + " has no " + kind + " topology");
}

/// Calls that ask a communicator about its topology: find(communicator) answers the topology, and question(communicator, topology)
/// the call.
template <typename Find, typename Question>
int ask_topology(const char* function, MPI_Comm handle, Find find, Question question) {
  return deliver(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
    SHIM_TRY_ASSIGN(const auto* topology, find(*comm));
    return question(*comm, *topology);
  });
}

}  // namespace shim::intercept
