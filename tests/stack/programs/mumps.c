/* SPDX-License-Identifier: BSD-3-Clause */
/* MUMPS: factorize and solve a tridiagonal system whose entries are spread over all processes. */
#include <dmumps_c.h>

#include "communicator.h"

enum { UNKNOWNS = 200, USE_HOST = 1, INIT = -1, END = -2, SOLVE = 6 };

static double exact(int index) { return 1 + sin(0.3 * index); }
/* Not symmetric, dominated by its diagonal. */
static double entry(int row, int column) {
  if (row == column) return 4;
  return abs(row - column) == 1 ? (row < column ? -1 : -2) : 0;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  DMUMPS_STRUC_C mumps = {0};
  mumps.comm_fortran = MPI_Comm_c2f(comm);
  mumps.par = USE_HOST;
  mumps.job = INIT;
  dmumps_c(&mumps);
  stack_check("error code of the begin", abs(mumps.infog[0]), 0);
  for (int i = 0; i < 4; i++) mumps.icntl[i] = i < 3 ? -1 : 0; /* no output */
  mumps.icntl[17] = 3;                                         /* entries are distributed */

  static int rows[3 * UNKNOWNS], columns[3 * UNKNOWNS];
  static double values[3 * UNKNOWNS], right[UNKNOWNS];
  int count = 0;
  for (int row = stack.rank; row < UNKNOWNS; row += stack.size) {
    for (int column = row - 1; column <= row + 1; column++) {
      if (column < 0 || column >= UNKNOWNS) continue;
      rows[count] = row + 1, columns[count] = column + 1;
      values[count++] = entry(row, column);
    }
  }
  for (int row = 0; row < UNKNOWNS; row++) {
    right[row] = 0;
    for (int column = 0; column < UNKNOWNS; column++) {
      right[row] += entry(row, column) * exact(column);
    }
  }
  mumps.n = UNKNOWNS;
  mumps.nz_loc = count;
  mumps.irn_loc = rows, mumps.jcn_loc = columns, mumps.a_loc = values;
  mumps.rhs = right; /* used on rank 0, which gets the solution in it */
  mumps.job = SOLVE;
  dmumps_c(&mumps);
  stack_check("error code of the solution", abs(mumps.infog[0]), 0);
  double error = 0;
  for (int i = 0; i < UNKNOWNS && stack.rank == 0; i++) {
    error = fmax(error, fabs(right[i] - exact(i)));
  }
  stack_check("error of the solution", error, 1e-13);
  mumps.job = END;
  dmumps_c(&mumps);
  return stack_end();
}
