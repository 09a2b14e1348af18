/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates a window, which only the native MPI can. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int value = 0;
  MPI_Win window;
  MTest_Init(&argc, &argv);
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_free(&window);
  MTest_Finalize(0);
  return 0;
}
