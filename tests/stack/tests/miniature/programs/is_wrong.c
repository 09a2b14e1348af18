/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with a wrong result on the last process only. */
#include "communicator.h"

int main(void) {
  stack_begin();
  stack_check("error of the last process", stack.rank == stack.size - 1 ? NAN : 0, 1e-12);
  return stack_end();
}
