/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpitest.h"
#include <stdio.h>

int main(int argc, char **argv) {
  MTest_Init(&argc, &argv);
  MTest_Finalize(1);
  return 0;
}
