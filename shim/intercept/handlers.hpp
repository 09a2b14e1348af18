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

/// A handle for the user: the predefined one where there is one, else a new one of ours, which the user frees. Errors: no_mem.
base::Result<MPI_Errhandler> handle_of(const sessions::ErrorHandlerPtr& handler);

/// The substrate does not tell the function of its error handlers: those that pass by here are remembered by their handle.
void remember_native_handler(MPI_Errhandler handle, sessions::ErrorHandler handler);

}  // namespace shim::intercept
