/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  MTest_Init(&argc, &argv);
  MTest_Finalize(1);
  return 0;
}
