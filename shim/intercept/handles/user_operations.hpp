// SPDX-License-Identifier: BSD-3-Clause
// Finds the operations of MPI_Op_create, made by either library.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"
#include "shim/intercept/handles/objects.hpp"

namespace shim::intercept {

/// Return the operation of a handle: ours, or the substrate's if its creation was intercepted
/// (usable on communicators of ours even after MPI_Finalize). Null for others.
UserOperationPtr find_operation(MPI_Op handle);

void remember_native_operation(MPI_Op handle, const UserOperation& operation);
/// Forget an operation before the substrate frees it, because the substrate may reuse the handle at
/// once. Calls in progress keep their operation.
void forget_native_operation(MPI_Op handle);

/// Let an operation of either library call a function of the C++ bindings, as `call` does. For an
/// operation that no other call uses yet.
void set_cxx_call(MPI_Op handle, decltype(UserOperation::cxx_call) call, void (*callback)());

/// Make this operation in the native library, which is active. Errors: other, no_mem, op (an
/// operation of the C++ bindings).
base::Result<MPI_Op> make_native_operation(const UserOperation& operation);
void free_native_operation(MPI_Op handle);

/// Return a trampoline with an int count that calls `function`, for a library without large counts.
/// Each `function` takes one of 16 trampolines and never releases it. Errors: no_mem (all are in
/// use).
base::Result<MPI_User_function*> with_int_count(MPI_User_function_c* function);

}  // namespace shim::intercept
