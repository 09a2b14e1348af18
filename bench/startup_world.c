/* SPDX-License-Identifier: BSD-3-Clause */
/* How long MPI_Init takes: a program of the old kind, built with the substrate alone. */
#include "startup.h"

int main(int argc, char **argv) {
  double start = now_ms();
  MPI_Init(&argc, &argv);
  double took = now_ms() - start;
  const char *const names[] = {"world_init"};
  report(MPI_COMM_WORLD, names, &took, 1);
  leave_if_asked(argc, argv, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
