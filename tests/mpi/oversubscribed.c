/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests many more processes than cores, with short collectives and a ring, in which each process
 * waits for one without a core. If a waiting process does not yield its core, this takes minutes;
 * the time-out of the job is the test. */
#include "session_world.h"

enum { kRounds = 200 };

int main(void) {
  open_world("test.oversubscribed");
  double start = MPI_Wtime();
  for (int round = 0; round < kRounds; ++round) {
    int value = rank == 0 ? round : -1, total = 0;
    MUST(MPI_Barrier(world));
    MUST(MPI_Bcast(&value, 1, MPI_INT, 0, world));
    EXPECT(value == round, "round %d: %d", round, value);
    MUST(MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, world));
    EXPECT(total == size * (size - 1) / 2, "round %d: sum %d", round, total);
    /* once around the ring, one process at a time */
    if (rank > 0) MUST(MPI_Recv(&value, 1, MPI_INT, rank - 1, round, world, MPI_STATUS_IGNORE));
    EXPECT(value == round + rank, "round %d: received %d", round, value);
    ++value;
    if (rank + 1 < size) MUST(MPI_Send(&value, 1, MPI_INT, rank + 1, round, world));
  }
  if (rank == 0)
    printf("%d processes: %.1f ms per round\n", size, (MPI_Wtime() - start) * 1e3 / kRounds);
  return close_world();
}
