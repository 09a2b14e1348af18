/* SPDX-License-Identifier: BSD-3-Clause */
/* fatal SCENARIO: tests errors that end the job, by the error handler or by MPI_Abort. No later
 * statement runs. */
#include <signal.h>
#include <unistd.h>

#include "session_world.h"

static void start(MPI_Errhandler handler) {
  MUST(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://nowhere", &group);
}

int main(int argc, char** argv) {
  const char* scenario = argc > 1 ? argv[1] : "";
  if (strcmp(scenario, "are_fatal") == 0)
    start(MPI_ERRORS_ARE_FATAL);
  else if (strcmp(scenario, "abort") == 0)
    start(MPI_ERRORS_ABORT);
  else if (strcmp(scenario, "null_session") == 0) {
    int count;
    MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count);
  } else if (strcmp(scenario, "on_communicator") == 0) {
    open_world("test.fatal");
    MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL));
    MPI_Send(&rank, 1, MPI_INT, size, 0, world);
  } else if (strcmp(scenario, "orphaned") == 0) {
    open_world("test.fatal");
    MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL));
    MUST(MPI_Barrier(world));
    if (rank == 0) kill(getppid(), SIGKILL); /* the launcher, which then cannot end processes */
    MPI_Recv(&rank, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
  } else if (strcmp(scenario, "mpi_abort") == 0) {
    open_world("test.fatal");
    if (rank == size - 1) MPI_Abort(world, 7);
    MPI_Barrier(world);
    MPI_Barrier(world);
  }
  printf("reached the end\n");
  return 0;
}
