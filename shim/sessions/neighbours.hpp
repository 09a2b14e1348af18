// SPDX-License-Identifier: BSD-3-Clause
// Whom the neighbourhood collectives mean (MPI-4.1 §8.6).
#pragma once

#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Ranks in the order in which neighbourhood collectives have their blocks; p2p::kProcNull beyond the edge of a grid, where the block
/// stays as it is. A rank may be there several times.
struct Neighbours {
  std::vector<int> sources, destinations;
};

/// Of a grid: for each dimension the neighbour at -1, then the one at +1, both to receive from and to send to. Of a graph: as
/// MPI_Graph_neighbors has them. Of a distributed graph: as MPI_Dist_graph_neighbors has them. Local. Errors: topology (none).
base::Result<Neighbours> neighbours_of(const Communicator& communicator);

}  // namespace shim::sessions
