/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that refuses as libraries do that need MPI_Init. */
#include "communicator.h"

int main(void) {
  stack_begin();
  if (stack.rank == 0) printf("refuses: MPI is not initialized\n");
  stack_end();
  return 1;
}
