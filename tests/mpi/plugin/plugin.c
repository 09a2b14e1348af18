/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that uses MPI, loaded with RTLD_LOCAL by a program that is not linked with MPI, like an
 * extension module of Python. */
#include "../session_world.h"

/* Use the world model, then both models at once. Return the number of failures. */
int plugin_run(void) {
  int sum = 0, world_rank, world_size;
  MUST(MPI_Init(NULL, NULL));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  MUST(MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(sum == world_size * (world_size - 1) / 2, "sum %d", sum);
  open_world("test.plugin");
  EXPECT(rank == world_rank && size == world_size, "rank %d of %d", rank, size);
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
  int code = close_world();
  MUST(MPI_Finalize());
  fflush(stdout);
  return code;
}

/* Use only sessions. Return the number of failures. */
int plugin_run_session(void) {
  int sum = 0;
  open_world("test.plugin.session");
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
  int code = close_world();
  fflush(stdout);
  return code;
}
