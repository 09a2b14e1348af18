/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  MTest_Init(&argc, &argv);
  MPI_No_such_function();
  MTest_Finalize(0);
  return 0;
}
