// SPDX-License-Identifier: BSD-3-Clause
// Finds the error handlers behind MPI_Errhandler handles of either library.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept {

/// Return MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT or MPI_ERRORS_RETURN as a value.
sessions::ErrorHandlerPtr predefined_handler(sessions::HandlerKind kind);

/// Return the handler of a handle: predefined, ours, or one of the substrate's whose creation was
/// intercepted. Null for all others.
sessions::ErrorHandlerPtr find_handler(MPI_Errhandler handle);

/// Return a handle that the user frees: the predefined one; else the handler's present handle with
/// one more reference, so that it equals the handle that was set; else a new one of ours. Errors:
/// no_mem.
base::Result<MPI_Errhandler> handle_of(const sessions::ErrorHandlerPtr& handler);

/// Result of releasing a reference: not the last; or the last, so that the handle is dead and its
/// maker (Intersession or the substrate) must free it.
enum class LastReference { no, of_ours, of_the_substrate };
LastReference free_reference(MPI_Errhandler handle);

/// Remember a handler of the substrate by its handle when its creation is intercepted, because the
/// substrate does not return the function of a handler.
void remember_native_handler(MPI_Errhandler handle, sessions::ErrorHandler handler);
/// Forget a handler of the substrate whose function only the substrate can call (C++ bindings).
void forget_native_handler(MPI_Errhandler handle);

}  // namespace shim::intercept
