// SPDX-License-Identifier: BSD-3-Clause
// Serves local calls on MPI_COMM_WORLD and MPI_COMM_SELF while a session is open and MPI_Init was
// not called: libraries ask for rank, size, group, name and attributes. Calls on MPI_COMM_SELF may
// also set attributes.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Call the delete functions of the attributes that the program has set on MPI_COMM_SELF without
/// MPI_Init. Call it before MPI_Init. Errors: those of the delete functions.
base::Status delete_attributes_of_self();

/// Call the delete functions if the program has finalized its last session. Errors: those of the
/// delete functions.
base::Status delete_attributes_without_session();

// Attributes in Fortran, of predefined communicators.

int get_predefined_comm_number(const char* function, MPI_Comm comm, int keyval,
                               std::intptr_t* value, bool* flag);
int set_predefined_comm_number(const char* function, MPI_Comm comm, int keyval,
                               std::intptr_t value);

}  // namespace shim::intercept
