/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose checks pass, if its options define STACK_TEST_DEFINED. */
#include "communicator.h"

#ifndef STACK_TEST_DEFINED
#error "the options of the table are missing"
#endif

int main(void) {
  const MPI_Comm comm = stack_begin();
  int received = -1;
  MPI_Sendrecv(&stack.rank, 1, MPI_INT, (stack.rank + 1) % stack.size, 0, &received, 1, MPI_INT,
               (stack.rank + stack.size - 1) % stack.size, 0, comm, MPI_STATUS_IGNORE);
  stack_check("error of a message", received != (stack.rank + stack.size - 1) % stack.size, 0);
  return stack_end();
}
