// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/arrays.hpp"

#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

Lengths peers_of(MPI_Comm comm) {
  int is_inter = 0, size = 0;
  active_table.Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    active_table.Comm_remote_size(comm, &size);
  else
    active_table.Comm_size(comm, &size);
  return {size, size};
}

Lengths neighbors_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, rank = 0, count = 0, in = 0, out = 0, weighted = 0;
  active_table.Topo_test(comm, &topology);
  switch (topology) {
    case MPI_CART:
      active_table.Cartdim_get(comm, &count);
      return {2 * count, 2 * count};
    case MPI_GRAPH:
      active_table.Comm_rank(comm, &rank);
      active_table.Graph_neighbors_count(comm, rank, &count);
      return {count, count};
    case MPI_DIST_GRAPH:
      active_table.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
      return {out, in};
    default:
      return {};  // no topology: the native library raises the error
  }
}

/// True if the native library can be asked about the communicator. An invalid one is passed on
/// unqueried, so that the library raises the error once, with the right function name.
bool may_query(MPI_Comm comm) {
  return is_active() && !abi::is_unset(comm) && comm != abi::predefined.comm_null;
}

}  // namespace

Lengths lengths_of(MPI_Comm comm, Reach reach) {
  if (!may_query(comm)) return {};
  return reach == Reach::peers ? peers_of(comm) : neighbors_of(comm);
}

bool any_ours_among(MPI_Comm comm, Reach reach, const TypeArrays& arrays) {
  if (!may_query(comm)) return false;
  const Lengths lengths = lengths_of(comm, reach);
  return (arrays.sendbuf != MPI_IN_PLACE && abi::ours_in(arrays.sendtypes, lengths.send)) ||
         abi::ours_in(arrays.recvtypes, lengths.receive);
}

bool any_ours_among(MPI_Comm comm, int root, const MPI_Info* infos, int count) {
  if (!may_query(comm)) return false;
  int rank = MPI_UNDEFINED;
  active_table.Comm_rank(comm, &rank);
  return rank == root && abi::ours_in(infos, count);
}

}  // namespace shim::intercept
