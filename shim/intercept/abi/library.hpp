// SPDX-License-Identifier: BSD-3-Clause
// Which library the substrate is.
#pragma once

#include <array>

namespace shim::intercept::abi {

/// Whose ABI this library speaks, for people.
extern const char* const kFamily;
/// Names under which such libraries are loaded, and a symbol that each of them has and no other MPI.
extern const std::array<const char*, 2> kSonames;
/// Where its launchers tell a process the size of its world.
extern const char* const kWorldSizeVariable;
/// Does its MPI_Wtime run before MPI_Init and after MPI_Finalize?
extern const bool kClockAlwaysRuns;

}  // namespace shim::intercept::abi
