// SPDX-License-Identifier: BSD-3-Clause
// Checks that the world model has as many processes as sessions see.
#pragma once

#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Warn once, in one process, if MPI_COMM_WORLD and mpi://WORLD differ in size: an MPI library
/// started by another library's launcher silently makes every process its own world. Local; the
/// substrate must be active.
void warn_if_world_sizes_differ(sessions::Process& process);

}  // namespace shim::intercept
