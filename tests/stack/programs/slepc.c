/* SPDX-License-Identifier: BSD-3-Clause */
/* SLEPc: the largest eigenvalues of a tridiagonal matrix, which are known. */
#include <slepceps.h>

#include "communicator.h"

enum { ORDER = 100, WANTED = 3 };

int main(void) {
  const MPI_Comm comm = stack_begin();
  PETSC_COMM_WORLD = comm;
  const PetscErrorCode code = SlepcInitialize(NULL, NULL, NULL, NULL);
  if (code != 0) { /* without a message */
    fprintf(stderr, "SlepcInitialize: error %d\n", (int)code);
    return 1;
  }
  Mat matrix;
  EPS solver;
  PetscInt first, end, found;
  PetscCall(
      MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, ORDER, ORDER, 3, NULL, 2, NULL, &matrix));
  PetscCall(MatGetOwnershipRange(matrix, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    PetscCall(MatSetValue(matrix, i, i, 2, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(matrix, i, i - 1, -1, INSERT_VALUES));
    if (i < ORDER - 1) PetscCall(MatSetValue(matrix, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(EPSCreate(comm, &solver));
  PetscCall(EPSSetOperators(solver, matrix, NULL));
  PetscCall(EPSSetProblemType(solver, EPS_HEP));
  PetscCall(EPSSetDimensions(solver, WANTED, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(EPSSetTolerances(solver, 1e-10, 1000));
  PetscCall(EPSSolve(solver));
  PetscCall(EPSGetConverged(solver, &found));
  stack_check("eigenvalues missing", found < WANTED ? WANTED - found : 0, 0);
  double error = 0;
  for (int i = 0; i < WANTED && i < found; i++) {
    PetscScalar value;
    PetscCall(EPSGetEigenvalue(solver, i, &value, NULL));
    error = fmax(error, fabs(value - (2 - 2 * cos(acos(-1.0) * (ORDER - i) / (ORDER + 1)))));
  }
  stack_check("error of the eigenvalues", error, 1e-9);
  PetscCall(EPSDestroy(&solver));
  PetscCall(MatDestroy(&matrix));
  PetscCall(SlepcFinalize());
  return stack_end();
}
