/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls Intersession's Fortran procedures in a program that has not loaded the Fortran library of
 * Open MPI: native objects with Fortran procedures cannot be created, and the call says so. */
#include "../session_world.h"

void mpi_op_create_(void (*procedure)(void), const MPI_Fint* commute, MPI_Fint* op, MPI_Fint* code);

static void procedure(void) {}

int main(int argc, char** argv) {
  const MPI_Fint commute = 1;
  MPI_Fint op = 0, code = MPI_SUCCESS;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  mpi_op_create_(procedure, &commute, &op, &code);
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, code);
  MUST(MPI_Error_string(code, text, &length));
  EXPECT(strstr(text, "ompi_op_create_f") != NULL, "text %s", text);
  MUST(MPI_Finalize());
  return verdict();
}
