/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that calls MPI_Init, as some libraries do, and passes its checks. */
#include "communicator.h"

int main(void) {
  stack_begin();
  MPI_Init(NULL, NULL);
  int received = -1;
  MPI_Sendrecv(&stack.rank, 1, MPI_INT, (stack.rank + 1) % stack.size, 0, &received, 1, MPI_INT,
               (stack.rank + stack.size - 1) % stack.size, 0, stack.comm, MPI_STATUS_IGNORE);
  return stack_end();
}
