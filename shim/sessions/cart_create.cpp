// SPDX-License-Identifier: BSD-3-Clause
// Cartesian communicators (MPI-4.1 §8.5.1, §8.5.6). Every member can compute every other's place, so nothing is asked of them.
#include "shim/sessions/derive.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// The number of processes in the grid. Errors: dims.
base::Result<int> grid_size(const std::vector<int>& dims, int processes) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1) return Error(ErrorClass::dims, "dims[" + std::to_string(i) + "] is " + std::to_string(dims[i]));
    size *= dims[i];
    if (size > processes)
      return Error(ErrorClass::dims, "the grid has more processes than the communicator, which has " + std::to_string(processes));
  }
  return static_cast<int>(size);
}

}  // namespace

base::Result<CommunicatorPtr> cart_create(const CommunicatorPtr& parent, const std::vector<int>& dims,
                                          const std::vector<int>& periods, [[maybe_unused]] bool reorder) {
  if (periods.size() != dims.size())
    return Error(ErrorClass::dims, std::to_string(dims.size()) + " dims and " + std::to_string(periods.size()) + " periods");
  SHIM_TRY_ASSIGN(int size, grid_size(dims, parent->size()));
  SHIM_TRY_ASSIGN(GroupPtr group, range_include(*parent->group(), std::vector<Triplet>{{0, size - 1, 1}}));
  SHIM_TRY_ASSIGN(CommunicatorPtr grid, derive(parent, group));
  if (!grid) return grid;
  Cartesian cartesian{dims, periods, {}};
  for (int& period : cartesian.periods) period = period != 0;
  SHIM_TRY_ASSIGN(cartesian.coords, cart_coords(cartesian, grid->rank()));
  grid->set_cartesian(std::move(cartesian));
  return grid;
}

base::Result<CommunicatorPtr> cart_sub(const CommunicatorPtr& comm, const std::vector<int>& remain) {
  if (!comm->cartesian()) return Error(ErrorClass::topology, "the " + comm->description() + " is not a grid");
  const Cartesian& grid = *comm->cartesian();
  if (remain.size() != grid.dims.size())
    return Error(ErrorClass::dims, std::to_string(remain.size()) + " flags for a grid of " + std::to_string(grid.dims.size()) +
                                       " dimensions");
  // Start with the own place, all remaining coordinates 0, and go through the dimensions: each that remains multiplies the
  // members found so far.
  std::vector<int> origin = grid.coords;
  Cartesian part;
  for (std::size_t i = 0; i < remain.size(); ++i) {
    if (remain[i] == 0) continue;
    origin[i] = 0;
    part.dims.push_back(grid.dims[i]), part.periods.push_back(grid.periods[i]), part.coords.push_back(grid.coords[i]);
  }
  SHIM_TRY_ASSIGN(int first, cart_rank(grid, origin));
  std::vector<int> ranks = {first};
  int stride = comm->size();
  for (std::size_t i = 0; i < remain.size(); ++i) {
    stride /= grid.dims[i];
    if (remain[i] == 0) continue;
    std::vector<int> longer;
    for (int rank : ranks)
      for (int step = 0; step < grid.dims[i]; ++step) longer.push_back(rank + step * stride);
    ranks = std::move(longer);
  }
  SHIM_TRY_ASSIGN(GroupPtr group, include(*comm->group(), ranks));
  SHIM_TRY_ASSIGN(CommunicatorPtr result, derive(comm, group));
  result->set_cartesian(std::move(part));
  return result;
}

}  // namespace shim::sessions
