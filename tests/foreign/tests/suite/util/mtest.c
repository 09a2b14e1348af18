/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

void MTest_Init(int* argc, char*** argv) {
  int provided, flag;
  MPI_Initialized(&flag);
  if (!flag) MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

void MTest_Finalize(int errors) {
  int rank, sum, flag;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&errors, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  MPI_Finalized(&flag);
  if (rank == 0 && sum == 0 && flag) printf(" No Errors\n");
  if (rank == 0 && (sum || !flag)) printf(" Found %d errors\n", sum);
}
