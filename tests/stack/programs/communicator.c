/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of communicator.h as a shared library, for communicator.py. */
#include "communicator.h"

MPI_Fint stack_begin_fortran(void) { return MPI_Comm_c2f(stack_begin()); }
void stack_check_value(const char* what, double error, double bound) {
  stack_check(what, error, bound);
}
int stack_end_program(void) { return stack_end(); }
