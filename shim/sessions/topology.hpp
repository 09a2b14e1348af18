// SPDX-License-Identifier: BSD-3-Clause
// Topology is a virtual topology as a value (MPI-4.1 §8). topology_comm.hpp makes communicators.
#pragma once

#include <variant>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::sessions {

/// Cartesian structure (MPI-4.1 §8.5).
struct Cartesian {
  std::vector<int> dims, periods, coords;
};

/// Graph that every member knows completely (MPI-4.1 §8.5.3): the neighbors of rank r are
/// edges[index[r-1]] to edges[index[r]-1].
struct Graph {
  std::vector<int> index, edges;
  /// Return the neighbors of a rank.
  std::vector<int> neighbours(int rank) const {
    const auto first = edges.begin() + (rank == 0 ? 0 : index[static_cast<std::size_t>(rank) - 1]);
    return {first, edges.begin() + index[static_cast<std::size_t>(rank)]};
  }
};

/// Graph of which every member knows its own edges (MPI-4.1 §8.5.4). The weight lists are empty if
/// unweighted.
struct DistributedGraph {
  std::vector<int> sources, source_weights, destinations, destination_weights;
  bool is_weighted = false;
};

using Topology = std::variant<std::monostate, Cartesian, Graph, DistributedGraph>;

// Grid queries, all local. Errors: dims (sizes, directions), arg (coordinates), rank.
base::Result<int> cart_rank(const Cartesian& cartesian, const std::vector<int>& coords);
base::Result<std::vector<int>> cart_coords(const Cartesian& cartesian, int rank);
struct Shift {
  int source, dest;
};
base::Result<Shift> cart_shift(const Cartesian& cartesian, int direction, int displacement);
/// MPI_Dims_create: fill the zeros of dims as evenly as possible. Errors: dims.
base::Status dims_create(int processes, std::vector<int>& dims);

}  // namespace shim::sessions
