// SPDX-License-Identifier: BSD-3-Clause
// Operations of MPI_Op_create, whoever made them.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"
#include "shim/intercept/objects.hpp"

namespace shim::intercept {

/// What an operation's handle stands for: ours, or the substrate's whose making passed through us (which stays usable on
/// communicators of ours after MPI_Finalize). Null for others.
UserOperationPtr find_operation(MPI_Op handle);

void remember_native_operation(MPI_Op handle, const UserOperation& operation);
/// Before the substrate frees it: the handle may be another operation's right afterwards. Calls in progress keep what they use.
void forget_native_operation(MPI_Op handle);

/// The same operation in the library below, which is active. Errors: other, no_mem.
base::Result<MPI_Op> make_native_operation(const UserOperation& operation);
void free_native_operation(MPI_Op handle);

/// A stand-in for a function with large counts in a library that knows functions of int alone: it calls it. There are sixteen in
/// all, for as many functions; they are never taken back. Errors: no_mem (all are in use).
base::Result<MPI_User_function*> narrowed(MPI_User_function_c* function);

}  // namespace shim::intercept
