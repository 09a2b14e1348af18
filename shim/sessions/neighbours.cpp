// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/neighbours.hpp"

namespace shim::sessions {
namespace {

Neighbours in_grid(const Cartesian& grid) {
  Neighbours found;
  for (int direction = 0; direction < static_cast<int>(grid.dims.size()); ++direction) {
    const Shift shift = *cart_shift(grid, direction, 1);
    for (int rank : {shift.source, shift.dest}) found.sources.push_back(rank);
  }
  found.destinations = found.sources;
  return found;
}

}  // namespace

base::Result<Neighbours> neighbours_of(const Communicator& communicator) {
  if (const Cartesian* grid = communicator.cartesian()) return in_grid(*grid);
  if (const Graph* graph = communicator.graph()) {
    std::vector<int> both = graph->neighbours(communicator.rank());
    return Neighbours{both, both};
  }
  if (const DistributedGraph* graph = communicator.distributed_graph())
    return Neighbours{graph->sources, graph->destinations};
  return base::Error(base::ErrorClass::topology,
                     "the " + communicator.description() + " has no topology");
}

}  // namespace shim::sessions
