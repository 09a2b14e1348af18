/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes: latency and bandwidth on MPI_COMM_WORLD and on a session communicator of the same processes, in turn and in one
 * run, so that a machine that gets slower meets both.
 *
 *   messages [REPETITIONS]
 *
 * Rank 0 prints a line per repetition: what, bytes, the substrate's microseconds, ours. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Microseconds one way. */
static double ping_pong(MPI_Comm comm, char *buffer, int bytes, int rounds) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  double start = 0;
  for (int i = -rounds / 10; i < rounds; ++i) {
    if (i == 0) start = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, comm);
      MPI_Recv(buffer, bytes, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(buffer, bytes, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE);
      MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, comm);
    }
  }
  return (MPI_Wtime() - start) / rounds / 2 * 1e6;
}

/* Microseconds per message with a window of messages under way. */
static double stream(MPI_Comm comm, char *buffer, int bytes, int rounds) {
  enum { WINDOW = 16 };
  MPI_Request requests[WINDOW];
  int rank;
  char answer = 0;
  MPI_Comm_rank(comm, &rank);
  double start = 0;
  for (int i = -1; i < rounds; ++i) {
    if (i == 0) start = MPI_Wtime();
    for (int w = 0; w < WINDOW; ++w) {
      if (rank == 0) MPI_Isend(buffer, bytes, MPI_CHAR, 1, 2, comm, &requests[w]);
      else MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 2, comm, &requests[w]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) MPI_Recv(&answer, 1, MPI_CHAR, 1, 3, comm, MPI_STATUS_IGNORE);
    else MPI_Send(&answer, 1, MPI_CHAR, 0, 3, comm);
  }
  return (MPI_Wtime() - start) / rounds / WINDOW * 1e6;
}

int main(int argc, char **argv) {
  int repetitions = argc > 1 ? atoi(argv[1]) : 11, rank, size;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm ours;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) return fprintf(stderr, "messages: needs two processes\n"), 2;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) return 1;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, "intersession.bench.messages", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &ours) !=
      MPI_SUCCESS)
    return 1;

  static const struct {
    const char *what;
    double (*run)(MPI_Comm, char *, int, int);
    int bytes, rounds;
  } cases[] = {{"latency", ping_pong, 8, 50000},       {"latency", ping_pong, 1024, 20000},
               {"latency", ping_pong, 65536, 2000},    {"bandwidth", stream, 65536, 100},
               {"bandwidth", stream, 1048576, 12},     {"bandwidth", stream, 4194304, 4}};
  char *buffer = malloc(4194304);
  memset(buffer, 1, 4194304);
  for (int r = 0; r < repetitions; ++r)
    for (unsigned c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
      MPI_Barrier(MPI_COMM_WORLD);
      double theirs = cases[c].run(MPI_COMM_WORLD, buffer, cases[c].bytes, cases[c].rounds);
      MPI_Barrier(MPI_COMM_WORLD);
      double own = cases[c].run(ours, buffer, cases[c].bytes, cases[c].rounds);
      if (rank == 0) printf("%s %d substrate_us %.4f ours_us %.4f\n", cases[c].what, cases[c].bytes, theirs, own);
    }
  free(buffer);
  MPI_Comm_free(&ours);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  MPI_Finalize();
  return 0;
}
