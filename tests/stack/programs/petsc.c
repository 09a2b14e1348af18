/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSc: conjugate gradients solve the Laplace equation on a distributed grid. */
#include <petscdmda.h>
#include <petscksp.h>

#include "communicator.h"

enum { SIDE = 24 };

static double exact(int i, int j) { return 1 + sin(0.2 * i) * cos(0.3 * j); }

int main(void) {
  const MPI_Comm comm = stack_begin();
#ifndef STACK_COMM_WORLD_NOT_SET
  PETSC_COMM_WORLD = comm;
#endif
  const PetscErrorCode code = PetscInitialize(NULL, NULL, NULL, NULL);
  if (code != 0) { /* without a message */
    fprintf(stderr, "PetscInitialize: error %d\n", (int)code);
    return 1;
  }
  DM grid;
  Mat matrix;
  Vec solution, right, difference;
  KSP solver;
  PetscInt x, y, width, height, iterations;
  PetscCall(DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, SIDE, SIDE,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMCreateMatrix(grid, &matrix));
  PetscCall(DMCreateGlobalVector(grid, &solution));
  PetscCall(VecDuplicate(solution, &right));
  PetscCall(VecDuplicate(solution, &difference));
  PetscCall(DMDAGetCorners(grid, &x, &y, NULL, &width, &height, NULL));
  PetscScalar** values;
  PetscCall(DMDAVecGetArray(grid, difference, &values));
  for (int j = y; j < y + height; j++) {
    for (int i = x; i < x + width; i++) {
      const MatStencil row = {.i = i, .j = j};
      const MatStencil columns[] = {{.i = i, .j = j},
                                    {.i = i > 0 ? i - 1 : -1, .j = j},
                                    {.i = i < SIDE - 1 ? i + 1 : -1, .j = j},
                                    {.i = i, .j = j > 0 ? j - 1 : -1},
                                    {.i = i, .j = j < SIDE - 1 ? j + 1 : -1}};
      const PetscScalar entries[] = {4, -1, -1, -1, -1}; /* negative indices are ignored */
      PetscCall(MatSetValuesStencil(matrix, 1, &row, 5, columns, entries, INSERT_VALUES));
      values[j][i] = exact(i, j);
    }
  }
  PetscCall(DMDAVecRestoreArray(grid, difference, &values));
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMult(matrix, difference, right));

  PetscCall(KSPCreate(comm, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetType(solver, KSPCG));
  PetscCall(KSPSetTolerances(solver, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PetscCall(KSPSolve(solver, right, solution));
  PetscCall(KSPGetIterationNumber(solver, &iterations));
  stack_check("iterations", iterations, 200);
  PetscReal error;
  PetscCall(VecAXPY(difference, -1, solution));
  PetscCall(VecNorm(difference, NORM_INFINITY, &error));
  stack_check("error of the solution", error, 1e-9);

  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&solution));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&difference));
  PetscCall(MatDestroy(&matrix));
  PetscCall(DMDestroy(&grid));
  PetscCall(PetscFinalize());
  return stack_end();
}
