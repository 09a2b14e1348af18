/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  MTest_Init(&argc, &argv);
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 0;
}
