/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpitest.h"

int main(int argc, char** argv) {
  int nothing;
  MTest_Init(&argc, &argv);
  MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MTest_Finalize(0);
  return 0;
}
