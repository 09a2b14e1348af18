// SPDX-License-Identifier: BSD-3-Clause
// Error handlers behind MPI_Errhandler handles, whoever made them.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept {

/// MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN as values.
sessions::ErrorHandlerPtr predefined_handler(sessions::HandlerKind kind);

/// The handler behind a handle: predefined, ours, or one of the substrate's whose making was seen. Null for all others.
sessions::ErrorHandlerPtr find_handler(MPI_Errhandler handle);

/// A handle for the user, who frees it: the predefined one; else that which the handler is known by, so that it compares equal
/// to the one that was set, and counts one more reference; else a new one of ours. Errors: no_mem.
base::Result<MPI_Errhandler> handle_of(const sessions::ErrorHandlerPtr& handler);

/// Takes one reference to the handle of a user's handler back. Not the last: it stays. Else it is dead, and its maker has to be told.
enum class LastReference { no, of_ours, of_the_substrate };
LastReference free_reference(MPI_Errhandler handle);

/// The substrate does not tell the function of its error handlers: those that pass by here are remembered by their handle.
void remember_native_handler(MPI_Errhandler handle, sessions::ErrorHandler handler);

}  // namespace shim::intercept
