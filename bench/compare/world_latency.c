/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a ping-pong of two processes on MPI_COMM_WORLD and on a session communicator, in turn.
 * With INTERSESSION_WORLD=sessions both are Intersession's.
 *
 *   world_latency [REPETITIONS [MILLISECONDS]] */
#include "bench/collectives/side_by_side.h"

enum { most_bytes = 65536 };
static char data[most_bytes];
static int bytes;

/* Half of its time is the latency. */
static void ping_pong(MPI_Comm comm, void* state) {
  const int peer = 1 - bench_rank;
  (void)state;
  if (bench_rank == 0) MPI_Send(data, bytes, MPI_BYTE, peer, 1, comm);
  MPI_Recv(data, bytes, MPI_BYTE, peer, 1, comm, MPI_STATUS_IGNORE);
  if (bench_rank == 1) MPI_Send(data, bytes, MPI_BYTE, peer, 1, comm);
}

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? atoi(argv[1]) : 11;
  const double milliseconds = argc > 2 ? atof(argv[2]) : 50;
  const int sizes[] = {8, 1024, most_bytes};
  open_both(&argc, &argv, "intersession.bench.world_latency");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    char what[64];
    bytes = sizes[i];
    snprintf(what, sizeof what, "ping-pong,%d", bytes);
    compare(what, ping_pong, worlds, NULL, milliseconds, repetitions);
  }
  return close_both();
}
