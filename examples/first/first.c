/* SPDX-License-Identifier: BSD-3-Clause */
/* The first program of the README: creates a session and a communicator without MPI_Init. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size, sum;

  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "first", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);

  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  printf("%d of %d; the ranks add up to %d\n", rank, size, sum);

  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
