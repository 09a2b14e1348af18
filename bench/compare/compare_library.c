/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of compare.h in a session of a library inside a program that uses MPI_Init.
 * The report of 2020 (§4.3.4) did this with HPCC. */
#include "bench/compare/compare_in_session.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const int failed = compare_rows_in_session(argc, argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
