/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of compare.h on MPI_COMM_WORLD. */
#include "bench/compare/compare.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = compare_rows(MPI_COMM_WORLD, argc, argv);
  MPI_Finalize();
  return failed;
}
