// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/coll/neighbourhood.hpp"

#include "shim/sessions/neighbours.hpp"

namespace shim::intercept {

/// For each dimension of a grid, list the neighbour in negative direction first. A message sent in
/// negative direction comes from the receiver's neighbour in positive direction, even if both
/// neighbours are one process (periodic dimension of size 1 or 2): messages arrive in reverse order
/// for each dimension. In graphs they arrive in the order of the lists.
base::Result<Neighbourhood> neighbourhood_of(const sessions::Communicator& comm) {
  SHIM_TRY_ASSIGN(sessions::Neighbours listed, sessions::neighbours_of(comm));
  Neighbourhood found{std::move(listed.sources), std::move(listed.destinations), {}};
  if (!comm.cartesian()) return found;
  for (int i = 0; i < static_cast<int>(found.sources.size()); ++i) found.arrivals.push_back(i ^ 1);
  return found;
}

}  // namespace shim::intercept
