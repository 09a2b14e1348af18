// SPDX-License-Identifier: BSD-3-Clause
// Creates operations of Intersession, for the functions of both languages.
#pragma once

#include "shim/intercept/handles/objects.hpp"

namespace shim::intercept {

/// Create an operation of ours: implements MPI_Op_create while the native library is inactive.
/// @param function "MPI_X".
int create_own_operation(const char* function, const UserOperation& operation, MPI_Op* op);

}  // namespace shim::intercept
