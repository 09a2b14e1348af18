/* SPDX-License-Identifier: BSD-3-Clause */
/* SuperLU_DIST: factorize and solve a sparse system whose rows are distributed. */
#include <superlu_ddefs.h>

#include "communicator.h"

enum { SIDE = 12, UNKNOWNS = SIDE * SIDE };

static double exact(int index) { return 1 + sin(0.3 * index); }

int main(void) {
  const MPI_Comm comm = stack_begin();
  gridinfo_t grid;
  superlu_gridinit(comm, 2, 2, &grid);
  stack_check("error of the grid's rank", abs(grid.iam - stack.rank), 0);

  /* A convection-diffusion matrix of a square grid; SuperLU frees the arrays with the matrix. */
  const int local = UNKNOWNS / stack.size, first = local * stack.rank;
  double* values = doubleMalloc_dist(5 * local);
  double* right = doubleMalloc_dist(local);
  int_t* columns = intMalloc_dist(5 * local);
  int_t* begin = intMalloc_dist(local + 1);
  int_t count = 0;
  for (int i = 0; i < local; i++) {
    const int row = first + i;
    const struct {
      int column, is_inside;
      double value;
    } entries[] = {{row - SIDE, row >= SIDE, -1.5},
                   {row - 1, row % SIDE > 0, -1.2},
                   {row, 1, 4},
                   {row + 1, row % SIDE < SIDE - 1, -0.8},
                   {row + SIDE, row < UNKNOWNS - SIDE, -0.5}};
    begin[i] = count;
    right[i] = 0;
    for (int j = 0; j < 5; j++) {
      if (!entries[j].is_inside) continue;
      columns[count] = entries[j].column;
      values[count++] = entries[j].value;
      right[i] += entries[j].value * exact(entries[j].column);
    }
  }
  begin[local] = count;
  SuperMatrix matrix;
  dCreate_CompRowLoc_Matrix_dist(&matrix, UNKNOWNS, UNKNOWNS, count, local, first, values, columns,
                                 begin, SLU_NR_loc, SLU_D, SLU_GE);

  superlu_dist_options_t options;
  dScalePermstruct_t permutation;
  dLUstruct_t factors;
  dSOLVEstruct_t solve;
  SuperLUStat_t statistics;
  double backward = 1;
  int info = 0;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  dScalePermstructInit(UNKNOWNS, UNKNOWNS, &permutation);
  dLUstructInit(UNKNOWNS, &factors);
  PStatInit(&statistics);
  pdgssvx(&options, &matrix, &permutation, right, local, 1, &grid, &factors, &solve, &backward,
          &statistics, &info);
  stack_check("error code of pdgssvx", abs(info), 0);
  double error = 0;
  for (int i = 0; i < local; i++) error = fmax(error, fabs(right[i] - exact(first + i)));
  stack_check("error of the solution", error, 1e-12);

  PStatFree(&statistics);
  Destroy_CompRowLoc_Matrix_dist(&matrix);
  dScalePermstructFree(&permutation);
  dDestroy_LU(UNKNOWNS, &grid, &factors);
  dLUstructFree(&factors);
  dSolveFinalize(&options, &solve);
  SUPERLU_FREE(right);
  superlu_gridexit(&grid);
  return stack_end();
}
