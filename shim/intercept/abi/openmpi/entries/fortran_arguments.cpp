// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/openmpi/entries/fortran_arguments.hpp"

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/intercept/native/undefined_symbols.hpp"

namespace shim::intercept::fortran {
namespace {

/// Return the address of a common block as Open MPI's Fortran library sees it. Each library with
/// Fortran code may define the block; the loader binds the Fortran library to one definition.
const void* common_block(const char* symbol) {
  if (const void* library = fortran_symbol("ompi_wtime_f"))
    if (const void* bound = address_bound_in(library, symbol)) return bound;
  return data_symbol(symbol);
}

/// Addresses of the common blocks of constants, which programs pass. Compilers that do not append
/// one underscore do not reach this library's entries.
struct Constants {
  const void* bottom = common_block("mpi_fortran_bottom_");
  const void* in_place = common_block("mpi_fortran_in_place_");
  const void* status_ignore = common_block("mpi_fortran_status_ignore_");
  const void* statuses_ignore = common_block("mpi_fortran_statuses_ignore_");
};

const Constants& constants() {
  static const Constants found;
  return found;
}

Lengths peers_of(MPI_Comm comm) {
  int is_inter = 0, size = 0;
  if (PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return {};
  is_inter != 0 ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
  return {size, size};
}

Lengths neighbors_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, rank = 0, count = 0, in = 0, out = 0, weighted = 0;
  if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return {};
  switch (topology) {
    case MPI_CART:
      PMPI_Cartdim_get(comm, &count);
      return {2 * count, 2 * count};
    case MPI_GRAPH:
      PMPI_Comm_rank(comm, &rank);
      PMPI_Graph_neighbors_count(comm, rank, &count);
      return {count, count};
    case MPI_DIST_GRAPH:
      PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
      return {out, in};
    default:
      return {};
  }
}

}  // namespace

void* buffer(void* address) {
  if (address == constants().in_place) return MPI_IN_PLACE;
  return address == constants().bottom ? MPI_BOTTOM : address;
}

bool is_ignored(const MPI_Fint* statuses) {
  return statuses == constants().status_ignore || statuses == constants().statuses_ignore;
}

Lengths lengths_of_call(MPI_Comm comm, Reach reach, const void* sendbuf) {
  if (comm == abi::predefined.comm_null) return {};  // the function itself raises the error
  Lengths lengths = reach == Reach::peers ? peers_of(comm) : neighbors_of(comm);
  if (sendbuf == MPI_IN_PLACE) lengths.send = 0;
  return lengths;
}

}  // namespace shim::intercept::fortran
