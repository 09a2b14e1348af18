/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of the old kind, two processes: what calls on MPI_COMM_WORLD cost. Run with the library preloaded and without, in
 * turn. Rank 0 prints the best of several repetitions: nanoseconds a call of MPI_Comm_rank, nanoseconds one way of 8 bytes. */
#include <mpi.h>
#include <stdio.h>

static double rank_call_ns(void) {
  enum { CALLS = 5000000 };
  int rank;
  double start = MPI_Wtime();
  for (int i = 0; i < CALLS; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return (MPI_Wtime() - start) / CALLS * 1e9;
}

static double ping_pong_ns(int rank) {
  enum { ROUNDS = 50000 };
  double payload = 0, start = 0;
  for (int i = -ROUNDS / 10; i < ROUNDS; ++i) {
    if (i == 0) start = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(&payload, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(&payload, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&payload, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&payload, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - start) / ROUNDS / 2 * 1e9;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double best_call = 1e9, best_ping = 1e9;
  for (int r = 0; r < 7; ++r) {
    double call = rank_call_ns(), ping = ping_pong_ns(rank);
    if (call < best_call) best_call = call;
    if (ping < best_ping) best_ping = ping;
  }
  if (rank == 0) printf("comm_rank_ns %.3f ping_pong_ns %.2f\n", best_call, best_ping);
  MPI_Finalize();
  return 0;
}
