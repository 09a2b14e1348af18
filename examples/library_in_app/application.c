/* SPDX-License-Identifier: BSD-3-Clause */
/* An application with MPI_Init and MPI_COMM_WORLD that has no code for sessions. It calls a library
 * that uses a session. Messages of both are in flight at the same time, with the same ranks and
 * tags, and must not be confused. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring_library.h"

enum { ROUNDS = 40, SHORT = 16, LONG = 100000 };

static double value(int rank, int round, int index, int of_library) {
  return rank * 1000.0 + round + index * 1e-6 + (of_library ? 0.5 : 0.0);
}

static int count_wrong(const double* got, int count, int rank, int round, int of_library) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += got[i] != value(rank, round, i, of_library);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0, total = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ring* r = ring_open();
  if (!r) MPI_Abort(MPI_COMM_WORLD, 1);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  double *mine = malloc(LONG * sizeof(double)), *theirs = malloc(LONG * sizeof(double));
  double *ring_mine = malloc(LONG * sizeof(double)), *ring_theirs = malloc(LONG * sizeof(double));

  for (int round = 0; round < ROUNDS; ++round) {
    int count = round % 2 ? LONG : SHORT;
    for (int i = 0; i < count; ++i) {
      mine[i] = value(rank, round, i, 0);
      ring_mine[i] = value(ring_rank(r), round, i, 1);
    }
    MPI_Request requests[2];
    MPI_Irecv(theirs, count, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
    ring_start(r, ring_mine, ring_theirs, count);
    MPI_Isend(mine, count, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &requests[1]);
    int world_done = 0, ring_done = 0;
    while (!world_done || !ring_done) {
      if (!world_done) MPI_Testall(2, requests, &world_done, MPI_STATUSES_IGNORE);
      if (!ring_done) ring_done = ring_poll(r);
    }
    int ring_before = (ring_rank(r) + ring_size(r) - 1) % ring_size(r);
    wrong += count_wrong(theirs, count, before, round, 0) +
             count_wrong(ring_theirs, count, ring_before, round, 1);
  }

  MPI_Allreduce(&wrong, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("library_in_app: %d processes, %d rounds: %s\n", size, ROUNDS,
           total ? "WRONG DATA" : "all right");
  ring_close(r);
  free(mine);
  free(theirs);
  free(ring_mine);
  free(ring_theirs);
  MPI_Finalize();
  return total != 0;
}
