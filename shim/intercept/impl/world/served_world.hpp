// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends the world model that Intersession serves (INTERSESSION_WORLD=sessions), and makes
// the communicators that serve MPI_COMM_WORLD and MPI_COMM_SELF.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"
#include "shim/intercept/dispatch.hpp"
#include "shim/intercept/handles/world_comms.hpp"

namespace shim::intercept {

/// MPI_Init and MPI_Init_thread: make the communicators of mpi://WORLD and mpi://SELF. Collective
/// over all processes of the job. Errors: other (called before), unsupported_operation (a process
/// that MPI_Comm_spawn has started), those of acquire_process and of sessions::create_from_group.
/// @param level the thread level that the program asks for and gets.
base::Status start_served_world(int level);

/// MPI_Finalize: delete the attributes of MPI_COMM_SELF, then those of MPI_COMM_WORLD, then wait
/// for all processes, then send what is pending. Errors: other (not between MPI_Init and
/// MPI_Finalize), those of the program's delete functions; after the latter the world model has
/// ended, too.
base::Status end_served_world();

/// Delete the attributes of MPI_COMM_SELF and MPI_COMM_WORLD if the program has finalized its last
/// session and has not called MPI_Init. The communicators remain: the end of a session is local,
/// and processes that freed them here would disagree with others. Errors: those of the delete
/// functions.
base::Status delete_served_attributes_without_session();

// For the generated functions of the served table.

/// Make the communicator that serves MPI_COMM_WORLD or MPI_COMM_SELF, and replace the handle with
/// it. The first call on MPI_COMM_WORLD is collective over all processes of the job if the program
/// has not called MPI_Init. Keep the handle if no session is open. Return MPI_SUCCESS or a code.
int make_served_comm(const Subject& subject, const char* function, MPI_Comm& comm);

/// Replace MPI_COMM_WORLD or MPI_COMM_SELF with the communicator that serves it. Return MPI_SUCCESS
/// or a code.
inline int to_served_comm(const Subject& subject, const char* function, MPI_Comm& comm) {
  const MPI_Comm given = comm;
  comm = served_comm_if_made(given);
  const bool is_done = comm != given || !is_predefined_comm(given);
  return is_done ? MPI_SUCCESS : make_served_comm(subject, function, comm);
}

/// Replace the handle as to_served_comm() does, but do not make the communicator of mpi://WORLD.
inline int to_served_comm_if_local(const Subject& subject, const char* function, MPI_Comm& comm) {
  if (comm == MPI_Comm(abi::predefined.comm_self)) return to_served_comm(subject, function, comm);
  comm = served_comm_if_made(comm);
  return MPI_SUCCESS;
}

}  // namespace shim::intercept
