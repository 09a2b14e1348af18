// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/neighbourhood.hpp"

#include "shim/sessions/neighbours.hpp"

namespace shim::intercept {

/// In each direction of a grid there is first the neighbour below, then the one above. What one sends to the neighbour below comes from
/// above to that one, also where both are the same process (a periodic direction of one or two): so messages arrive the other way
/// round in each direction. In graphs they arrive as both sides list them.
base::Result<Neighbourhood> neighbourhood_of(const sessions::Communicator& comm) {
  SHIM_TRY_ASSIGN(sessions::Neighbours listed, sessions::neighbours_of(comm));
  Neighbourhood found{std::move(listed.sources), std::move(listed.destinations), {}};
  if (!comm.cartesian()) return found;
  for (int i = 0; i < static_cast<int>(found.sources.size()); ++i) found.arrivals.push_back(i ^ 1);
  return found;
}

}  // namespace shim::intercept
