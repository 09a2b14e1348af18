// SPDX-License-Identifier: BSD-3-Clause
// Makes Cartesian communicators (MPI-4.1 §8.5.1, §8.5.7). Every member computes all positions
// locally, without messages.
#include <numeric>

#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// Return the number of processes in the grid; 1 without dimensions. Errors: dims.
base::Result<int> grid_size(const std::vector<int>& dims, const std::vector<int>& periods,
                            int processes) {
  if (periods.size() != dims.size())
    return Error(ErrorClass::dims, "dims has " + std::to_string(dims.size()) +
                                       " elements, but periods has " +
                                       std::to_string(periods.size()));
  std::int64_t size = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1)
      return Error(ErrorClass::dims, "dims[" + std::to_string(i) + "] is not positive (" +
                                         std::to_string(dims[i]) + ")");
    size *= dims[i];
    if (size > processes)
      return Error(ErrorClass::dims, "the grid has more processes than the group, which has " +
                                         std::to_string(processes));
  }
  return static_cast<int>(size);
}

/// Return the members of the grid, in the order of their ranks in it.
base::Result<GroupPtr> members_of(const CartesianArguments& grid, const Group& group,
                                  Process& process) {
  SHIM_TRY_ASSIGN(int size, grid_size(grid.dims, grid.periods, group.size()));
  SHIM_TRY_ASSIGN(GroupPtr first, range_include(group, std::vector<Triplet>{{0, size - 1, 1}}));
  if (!grid.reorder) return first;
  return include(*first,
                 map_to_grid(*first, grid.dims, grid.periods, process.bootstrap().node_map()));
}

base::Result<CommunicatorPtr> with_grid(base::Result<CommunicatorPtr> made,
                                        const CartesianArguments& grid) {
  if (!made || !*made) return made;
  Cartesian cartesian{grid.dims, grid.periods, {}};
  for (int& period : cartesian.periods) period = period != 0;
  SHIM_TRY_ASSIGN(cartesian.coords, cart_coords(cartesian, (*made)->rank()));
  (*made)->set_topology(std::move(cartesian));
  return made;
}

std::string text_of(const CartesianArguments& grid) {
  std::string text = "grid";
  for (std::size_t i = 0; i < grid.dims.size(); ++i)
    text += (i == 0 ? " " : "x") + std::to_string(grid.dims[i]) + (grid.periods[i] != 0 ? "p" : "");
  return text + (grid.reorder ? ", reordered" : "");
}

}  // namespace

base::Result<CommunicatorPtr> cart_create(const CommunicatorPtr& parent,
                                          const CartesianArguments& grid) {
  SHIM_TRY_ASSIGN(GroupPtr members, members_of(grid, *parent->group(), parent->process()));
  return with_grid(derive(parent, members), grid);
}

base::Result<CommunicatorPtr> cart_create_from_group(const FromGroup& from,
                                                     const CartesianArguments& grid) {
  SHIM_TRY_ASSIGN(Process* const process, from.session->process());
  SHIM_TRY_ASSIGN(GroupPtr members, members_of(grid, *from.group, *process));
  const TopologyOfGroup topology{text_of(grid), std::move(members)};
  return with_grid(
      create_from_group(from.session, from.group, from.tag, from.info, from.handler, &topology),
      grid);
}

base::Result<int> cart_map(const Communicator& comm, const std::vector<int>& dims,
                           const std::vector<int>& periods) {
  SHIM_TRY_ASSIGN(GroupPtr members,
                  members_of({dims, periods, true}, *comm.group(), comm.process()));
  return members->rank_of(comm.process().self());
}

base::Result<CommunicatorPtr> cart_sub(const CommunicatorPtr& comm,
                                       const std::vector<int>& remain) {
  if (!comm->cartesian())
    return Error(ErrorClass::topology, "the " + comm->description() + " has no Cartesian topology");
  const Cartesian& grid = *comm->cartesian();
  if (remain.size() != grid.dims.size())
    return Error(ErrorClass::dims, std::to_string(remain.size()) + " flags given for a grid of " +
                                       std::to_string(grid.dims.size()) + " dimensions");
  // Start with this rank with all remaining coordinates 0, then go through the dimensions: each
  // remaining dimension multiplies the members found so far.
  std::vector<int> origin = grid.coords;
  Cartesian part;
  for (std::size_t i = 0; i < remain.size(); ++i) {
    if (remain[i] == 0) continue;
    origin[i] = 0;
    part.dims.push_back(grid.dims[i]), part.periods.push_back(grid.periods[i]),
        part.coords.push_back(grid.coords[i]);
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
  result->set_topology(std::move(part));
  return result;
}

}  // namespace shim::sessions
