/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a session, a communicator of all processes and a duplicate, and ends in the way that the
 * argument names:
 *
 *   finalize  normally
 *   exit      by exit, with everything open
 *   kill      by a signal
 *   absent    rank 1 does not call a second creation, which fails for the others */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

/* All ranks but 1 create a communicator of all; the error names the missing rank. */
static void wait_in_vain(MPI_Group group, int rank) {
  MPI_Comm never = MPI_COMM_NULL;
  if (rank != 1 && MPI_Comm_create_from_group(group, "never", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                              &never) == MPI_SUCCESS)
    exit(1);
}

int main(int argc, char** argv) {
  const char* ending = argc > 1 ? argv[1] : "finalize";
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, copy;
  int rank;
  must(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  must(MPI_Group_from_session_pset(session, "mpi://WORLD", &group), "MPI_Group_from_session_pset");
  must(
      MPI_Comm_create_from_group(group, "all \"of\" them", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
      "MPI_Comm_create_from_group");
  must(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  must(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  must(MPI_Barrier(copy), "MPI_Barrier");
  if (strcmp(ending, "exit") == 0) exit(0);
  if (strcmp(ending, "kill") == 0) raise(SIGKILL);
  if (strcmp(ending, "absent") == 0) wait_in_vain(group, rank);
  must(MPI_Group_free(&group), "MPI_Group_free");
  must(MPI_Barrier(comm), "MPI_Barrier");
  must(MPI_Comm_free(&copy), "MPI_Comm_free");
  must(MPI_Comm_free(&comm), "MPI_Comm_free");
  must(MPI_Session_finalize(&session), "MPI_Session_finalize");
  puts("test passed");
  return 0;
}
