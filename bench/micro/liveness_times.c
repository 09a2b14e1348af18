/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the liveness check of a communicator's members while no process fails.
 * Prints microseconds of one check, and its share of a core at ten checks per second (the rate of a
 * waiting process). Also microseconds of an agreement and of shrinking.
 *
 *   mpirun -n N liveness_times
 *
 * A check of all members is MPIX_Comm_get_failed without the group. Rank 0 checks while the others
 * wait in a barrier. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

enum { LOOKS = 1001 };

static double median(double* of) {
  qsort(of, LOOKS, sizeof of[0], ascending);
  return of[LOOKS / 2];
}

int main(void) {
  static double took[LOOKS];
  MPI_Session session;
  MPI_Group group, failed;
  MPI_Comm comm;
  int rank, size;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "liveness", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  for (int i = 0; rank == 0 && i < LOOKS; ++i) {
    const double begin = MPI_Wtime();
    MPIX_Comm_get_failed(comm, &failed);
    took[i] = MPI_Wtime() - begin;
    MPI_Group_free(&failed);
  }
  MPI_Barrier(comm);
  if (rank == 0)
    printf("processes %d, one look %.2f us, share of a core %.5f %%\n", size, median(took) * 1e6,
           median(took) * 10 * 100);
  for (int i = 0; i < LOOKS; ++i) {
    int flag = 1;
    const double begin = MPI_Wtime();
    MPIX_Comm_agree(comm, &flag);
    took[i] = MPI_Wtime() - begin;
  }
  if (rank == 0) printf("processes %d, agreement %.1f us\n", size, median(took) * 1e6);
  for (int i = 0; i < LOOKS; ++i) {
    MPI_Comm shrunk;
    const double begin = MPI_Wtime();
    MPIX_Comm_shrink(comm, &shrunk);
    took[i] = MPI_Wtime() - begin;
    MPI_Comm_free(&shrunk);
  }
  if (rank == 0) printf("processes %d, shrinking %.1f us\n", size, median(took) * 1e6);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
