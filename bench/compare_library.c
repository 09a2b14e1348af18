/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of compare.h in a session that a part of the program has for itself, whose rest uses MPI_Init: what the report of 2020
 * (§4.3.4) did with HPCC. */
#include "compare_in_session.h"

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const int failed = compare_rows_in_session(argc, argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
