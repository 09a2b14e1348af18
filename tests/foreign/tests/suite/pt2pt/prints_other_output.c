/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  MTest_Init(&argc, &argv);
  printf("by the way\n");
  MTest_Finalize(0);
  return 0;
}
