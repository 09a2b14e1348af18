// SPDX-License-Identifier: BSD-3-Clause
// Which library the substrate is.
#pragma once

namespace shim::intercept::abi {

/// Where its launchers tell a process the size of its world.
extern const char* const kWorldSizeVariable;
/// Does its MPI_Wtime run before MPI_Init and after MPI_Finalize?
extern const bool kClockAlwaysRuns;
/// True if its MPI_File_call_errhandler takes MPI_FILE_NULL, whose handler the errors of closed
/// files go to.
extern const bool kCallsHandlerOfNullFile;
/// True if the library is a client of PMI-1 itself, on the descriptor that the launcher names.
extern const bool kSpeaksPmi1;

}  // namespace shim::intercept::abi
