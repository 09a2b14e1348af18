/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  MTest_Init(&argc, &argv);
  printf("Test Skipped\n");
  MPI_Finalize();
  return 0;
}
