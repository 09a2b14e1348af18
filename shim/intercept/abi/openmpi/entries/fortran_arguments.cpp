// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/openmpi/entries/fortran_arguments.hpp"

#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/coll/neighbourhood.hpp"
#include "shim/intercept/lifetime.hpp"
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

/// Return the lengths for a communicator of Intersession, or one that it serves. An invalid handle
/// has none: the function itself raises the error.
Lengths lengths_of_ours(MPI_Comm comm, Reach reach) {
  const sessions::CommunicatorPtr* const found = find_comm(comm);
  int size = 0;
  if (found == nullptr) {
    const bool is_not_made_yet = is_predefined_comm(comm) && any_open_session() != nullptr;
    if (reach == Reach::peers && is_not_made_yet) PMPI_Comm_size(comm, &size);
    return {size, size};
  }
  if (reach == Reach::peers) {
    size = (*found)->peers();
    return {size, size};
  }
  const auto neighbourhood = neighbourhood_of(**found);
  if (!neighbourhood) return {};
  return {static_cast<int>(neighbourhood->destinations.size()),
          static_cast<int>(neighbourhood->sources.size())};
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
  Lengths lengths = is_active() && !abi::is_ours(comm)
                        ? lengths_of(comm, reach)
                        : lengths_of_ours(served_comm_if_made(comm), reach);
  if (sendbuf == MPI_IN_PLACE) lengths.send = 0;
  return lengths;
}

}  // namespace shim::intercept::fortran
