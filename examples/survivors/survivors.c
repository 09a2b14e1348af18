/* SPDX-License-Identifier: BSD-3-Clause */
/* A computation that continues after the death of a process: pi by the midpoint rule, each member
 * with a share of the intervals.
 *
 * In round 3 the process with rank 1 kills itself. The others get an error, revoke the communicator
 * so that no process waits in it, create a smaller one with MPIX_Comm_shrink, and repeat the round
 * with larger shares. Three of four processes compute rounds 3 to 5.
 *
 * The launcher must not end the job with the process: mpirun --enable-recovery (Open MPI), mpiexec
 * -disable-auto-cleanup (Hydra, which then sends SIGUSR1 to the others). Hydra still ends the job
 * if a signal has killed the process; docs/user/survivors.md has a wrapper that hides the signal.
 */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 6, FATAL_ROUND = 3, VICTIM = 1 };
static const double intervals = 6e6;

static double share(int rank, int size) {
  double sum = 0;
  for (double i = rank; i < intervals; i += size) {
    const double x = (i + 0.5) / intervals;
    sum += 4 / (1 + x * x);
  }
  return sum / intervals;
}

/* Collective over the living members. Agree on whether all members have the result of the round,
 * and replace the communicator if a member has failed. */
static int round_is_complete(MPI_Comm* comm, int code) {
  int is_complete = code == MPI_SUCCESS;
  if (!is_complete) MPIX_Comm_revoke(*comm); /* members that have no error may wait for this one */
  const int agreed = MPIX_Comm_agree(*comm, &is_complete);
  if (agreed == MPI_SUCCESS && is_complete) return 1;
  MPI_Comm smaller;
  const int shrunk = MPIX_Comm_shrink(*comm, &smaller);
  MPI_Comm_free(comm);
  if (shrunk != MPI_SUCCESS) exit(1); /* the others will detect the death of this process */
  *comm = smaller;
  return 0;
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size;
  double pi = 0;
  const int is_hydra = argc > 1 && strcmp(argv[1], "hydra") == 0;
  signal(SIGUSR1, SIG_IGN);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "pi", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);

  for (int round = 0; round < ROUNDS;) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (round == FATAL_ROUND && rank == VICTIM && size == 4) {
      if (is_hydra) _exit(0); /* Hydra ends the job if a signal kills the process */
      raise(SIGKILL);
    }
    const double own = share(rank, size);
    const int code = MPI_Allreduce(&own, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (!round_is_complete(&comm, code)) continue;
    if (rank == 0) printf("round %d: %d processes, pi is %.6f\n", round, size, pi);
    ++round;
  }
  if (rank == 0 && fabs(pi - acos(-1)) < 1e-6)
    printf("all rounds are complete, the last ones with %d of 4 processes\n", size);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
