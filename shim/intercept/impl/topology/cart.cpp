// SPDX-License-Identifier: BSD-3-Clause
// Implements Cartesian topologies and MPI_Topo_test (MPI-4.1 §8.5).
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/topology/topology_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Cartesian;
using sessions::CommunicatorPtr;

base::Result<const Cartesian*> cartesian_of(const sessions::Communicator& comm) {
  return topology_of(comm, comm.cartesian(), "Cartesian");
}

int kind_of(const sessions::Communicator& comm) {
  if (comm.cartesian() != nullptr) return MPI_CART;
  if (comm.graph() != nullptr) return MPI_GRAPH;
  return comm.distributed_graph() != nullptr ? MPI_DIST_GRAPH : MPI_UNDEFINED;
}

/// Implement queries of a Cartesian communicator.
template <typename Ask>
int query_grid(const char* function, MPI_Comm handle, Ask question) {
  return query_topology(function, handle, cartesian_of, question);
}

}  // namespace

namespace impl {

int Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                MPI_Comm* comm_cart) {
  return derive("MPI_Cart_create", comm_old, comm_cart,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*parent));
                  SHIM_TRY_ASSIGN(sessions::CartesianArguments grid,
                                  get_cartesian(ndims, dims, periods, reorder));
                  return sessions::cart_create(parent, grid);
                });
}

int Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  return derive("MPI_Cart_sub", comm, newcomm,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY_ASSIGN(const Cartesian* cartesian, cartesian_of(*parent));
                  SHIM_TRY_ASSIGN(std::vector<int> remain,
                                  copy_ints(remain_dims, static_cast<int>(cartesian->dims.size()),
                                            "dimensions"));
                  return sessions::cart_sub(parent, remain);
                });
}

int Cartdim_get(MPI_Comm comm, int* ndims) {
  return query_grid("MPI_Cartdim_get", comm,
                    [&](sessions::Communicator&, const Cartesian& cartesian) -> base::Status {
                      SHIM_TRY(check_output(ndims, "number of dimensions"));
                      *ndims = static_cast<int>(cartesian.dims.size());
                      return {};
                    });
}

int Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
  return query_grid("MPI_Cart_get", comm,
                    [&](sessions::Communicator&, const Cartesian& cartesian) -> base::Status {
                      SHIM_TRY(put_ints(cartesian.dims, maxdims, dims, "dimensions"));
                      SHIM_TRY(put_ints(cartesian.periods, maxdims, periods, "periods"));
                      return put_ints(cartesian.coords, maxdims, coords, "coordinates");
                    });
}

int Cart_rank(MPI_Comm comm, const int coords[], int* rank) {
  return query_grid(
      "MPI_Cart_rank", comm,
      [&](sessions::Communicator&, const Cartesian& cartesian) -> base::Status {
        SHIM_TRY_ASSIGN(std::vector<int> at,
                        copy_ints(coords, static_cast<int>(cartesian.dims.size()), "coordinates"));
        SHIM_TRY(check_output(rank, "rank"));
        SHIM_TRY_ASSIGN(*rank, sessions::cart_rank(cartesian, at));
        return {};
      });
}

int Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
  return query_grid("MPI_Cart_coords", comm,
                    [&](sessions::Communicator& on, const Cartesian& cartesian) -> base::Status {
                      if (rank < 0 || rank >= on.size()) return slow::bad_rank(on, rank, "the");
                      SHIM_TRY_ASSIGN(std::vector<int> at, sessions::cart_coords(cartesian, rank));
                      return put_ints(at, maxdims, coords, "coordinates");
                    });
}

int Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  return query_grid("MPI_Cart_shift", comm,
                    [&](sessions::Communicator&, const Cartesian& cartesian) -> base::Status {
                      SHIM_TRY(check_output(rank_source, "source rank"));
                      SHIM_TRY(check_output(rank_dest, "destination rank"));
                      SHIM_TRY_ASSIGN(sessions::Shift shift,
                                      sessions::cart_shift(cartesian, direction, disp));
                      *rank_source = abi::to_mpi_rank(shift.source);
                      *rank_dest = abi::to_mpi_rank(shift.dest);
                      return {};
                    });
}

int Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank) {
  return run_with_handler(Subject::comm(comm), "MPI_Cart_map", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_intracomm(comm));
    SHIM_TRY_ASSIGN(sessions::CartesianArguments grid, get_cartesian(ndims, dims, periods, 1));
    SHIM_TRY(check_output(newrank, "rank"));
    SHIM_TRY_ASSIGN(int rank, sessions::cart_map(*found, grid.dims, grid.periods));
    *newrank = abi::to_mpi_rank(rank);
    return {};
  });
}

int Topo_test(MPI_Comm comm, int* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Topo_test", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(comm));
    SHIM_TRY(check_output(status, "kind of topology"));
    *status = kind_of(*found);
    return {};
  });
}

}  // namespace impl

namespace impl_when_inactive {

int Dims_create(int nnodes, int ndims, int dims[]) {
  return run_with_handler(Subject(), "MPI_Dims_create", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(std::vector<int> lengths, copy_ints(dims, ndims, "dimensions"));
    SHIM_TRY(sessions::dims_create(nnodes, lengths));
    std::copy(lengths.begin(), lengths.end(), dims);
    return {};
  });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
