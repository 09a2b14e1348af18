// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends the world model that Intersession serves (INTERSESSION_WORLD=sessions).
#pragma once

#include "shim/base/result.hpp"

namespace shim::intercept {

/// MPI_Init and MPI_Init_thread: make the communicators of mpi://WORLD and mpi://SELF. Collective
/// over all processes of the job. Errors: other (called before), unsupported_operation (a process
/// that MPI_Comm_spawn has started), those of acquire_process and of sessions::create_from_group.
/// @param level the thread level that the program asks for and gets.
base::Status start_served_world(int level);

/// MPI_Finalize: delete the attributes of MPI_COMM_SELF, then send what is pending. Errors: other
/// (not between MPI_Init and MPI_Finalize), those of the program's delete functions.
base::Status end_served_world();

/// Free the communicators that serve MPI_COMM_WORLD and MPI_COMM_SELF if the program has finalized
/// its last session and has not called MPI_Init: they would keep the Process alive. Errors: those
/// of the delete functions of attributes.
base::Status release_served_comms_without_session();

}  // namespace shim::intercept
