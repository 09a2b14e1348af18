// SPDX-License-Identifier: BSD-3-Clause
// Neighbours lists the ranks of a process's neighborhood collectives (MPI-4.1 §8.6).
#pragma once

#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Ranks in block order of neighborhood collectives; p2p::kProcNull beyond the edge of a grid,
/// where the block stays unchanged. A rank may occur several times.
struct Neighbours {
  std::vector<int> sources, destinations;
};

/// Return a communicator's neighbors. Grid: for each dimension the neighbor at -1, then at +1, both
/// as source and destination. Graph: as MPI_Graph_neighbors. Distributed graph: as
/// MPI_Dist_graph_neighbors. Local. Errors: topology (none).
base::Result<Neighbours> neighbours_of(const Communicator& communicator);

}  // namespace shim::sessions
