// SPDX-License-Identifier: BSD-3-Clause
// Which library the substrate is.
#pragma once

namespace shim::intercept::abi {

/// Where its launchers tell a process the size of its world.
extern const char* const kWorldSizeVariable;
/// Does its MPI_Wtime run before MPI_Init and after MPI_Finalize?
extern const bool kClockAlwaysRuns;

}  // namespace shim::intercept::abi
