// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/neighbourhood.hpp"

#include "shim/sessions/neighbours.hpp"

namespace shim::intercept {
namespace {

/// In each direction first the neighbour below, then the one above. What one sends to the neighbour below comes from above to that
/// one, also where both are the same process (a periodic direction of one or two): so messages arrive the other way round in each
/// direction.
base::Result<Neighbourhood> in_grid(const sessions::Cartesian& grid) {
  Neighbourhood found;
  for (int direction = 0; direction < static_cast<int>(grid.dims.size()); ++direction) {
    SHIM_TRY_ASSIGN(sessions::Shift shift, sessions::cart_shift(grid, direction, 1));
    for (int rank : {shift.source, shift.dest}) found.sources.push_back(rank);
    for (int arrival : {2 * direction + 1, 2 * direction}) found.arrivals.push_back(arrival);
  }
  found.destinations = found.sources;
  return found;
}

}  // namespace

base::Result<Neighbourhood> neighbourhood_of(const sessions::Communicator& comm) {
  if (const sessions::Cartesian* grid = comm.cartesian()) return in_grid(*grid);
  SHIM_TRY_ASSIGN(sessions::Neighbours found, sessions::neighbours_of(comm));
  return Neighbourhood{std::move(found.sources), std::move(found.destinations)};
}

}  // namespace shim::intercept
