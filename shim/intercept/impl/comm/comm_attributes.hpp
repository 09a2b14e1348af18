// SPDX-License-Identifier: BSD-3-Clause
// Reads and sets attributes of communicators as Fortran sees them (MPI-4.1 §19.3.7): each value is
// a number; a pointer set in C is its address, and a predefined attribute is the number behind C's
// pointer.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace shim::intercept {

int get_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t* value,
                    bool* flag);
int set_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t value);

}  // namespace shim::intercept
