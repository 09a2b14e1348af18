// SPDX-License-Identifier: BSD-3-Clause
// Has the launcher started a world model of as many processes as sessions see?
#pragma once

#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Warns once in a program, in one process, where MPI_COMM_WORLD and mpi://WORLD differ in size: an MPI that another MPI's
/// launcher started takes every process for a world of its own and says nothing. Local; the substrate must be active.
void warn_where_worlds_differ(sessions::Process& process);

}  // namespace shim::intercept
