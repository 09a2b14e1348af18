// SPDX-License-Identifier: BSD-3-Clause
// Reads and sets attributes of communicators for other files: predefined attributes, and attributes
// as Fortran sees them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Value of a predefined attribute: nothing if the key is of another attribute; null if the
/// attribute has no value.
using PredefinedValue = std::optional<int*>;
/// Return the value that the substrate gives on MPI_COMM_WORLD or MPI_COMM_SELF.
PredefinedValue predefined_comm_value(MPI_Comm predefined, sessions::Process& process, int number);

// Attributes in Fortran (MPI-4.1 §19.3.7): each value is a number; a pointer set in C is its
// address, and a predefined attribute is the number behind C's pointer.

int get_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t* value,
                    bool* flag);
int set_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t value);

}  // namespace shim::intercept
