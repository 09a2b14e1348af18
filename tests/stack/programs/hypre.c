/* SPDX-License-Identifier: BSD-3-Clause */
/* hypre: conjugate gradients with BoomerAMG solve the Laplace equation on a square grid. */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include "communicator.h"

enum { SIDE = 32, POINTS = SIDE * SIDE };

static double exact(int index) { return sin(0.1 * index) + 2; }

/* Write the columns of a row and their values; return the number of them. */
static int row_of(int row, HYPRE_BigInt columns[5], double values[5]) {
  const int steps[] = {-SIDE, -1, 1, SIDE};
  const int is_inside[] = {row >= SIDE, row % SIDE > 0, row % SIDE < SIDE - 1, row < POINTS - SIDE};
  int count = 1;
  columns[0] = row, values[0] = 4;
  for (int i = 0; i < 4; i++) {
    if (is_inside[i]) columns[count] = row + steps[i], values[count++] = -1;
  }
  return count;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  HYPRE_Init();
  const int first = POINTS * stack.rank / stack.size;
  const int last = POINTS * (stack.rank + 1) / stack.size - 1;
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector right, solution;
  HYPRE_IJMatrixCreate(comm, first, last, first, last, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  HYPRE_IJVectorCreate(comm, first, last, &right);
  HYPRE_IJVectorSetObjectType(right, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(right);
  HYPRE_IJVectorCreate(comm, first, last, &solution);
  HYPRE_IJVectorSetObjectType(solution, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(solution);
  for (HYPRE_BigInt row = first; row <= last; row++) {
    HYPRE_BigInt columns[5];
    double values[5], sum = 0;
    const double zero = 0;
    int count = row_of((int)row, columns, values);
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &row, columns, values);
    for (int i = 0; i < count; i++) sum += values[i] * exact((int)columns[i]);
    HYPRE_IJVectorSetValues(right, 1, &row, &sum);
    HYPRE_IJVectorSetValues(solution, 1, &row, &zero);
  }
  HYPRE_ParCSRMatrix A;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixAssemble(matrix);
  HYPRE_IJVectorAssemble(right);
  HYPRE_IJVectorAssemble(solution);
  HYPRE_IJMatrixGetObject(matrix, (void**)&A);
  HYPRE_IJVectorGetObject(right, (void**)&b);
  HYPRE_IJVectorGetObject(solution, (void**)&x);

  HYPRE_Solver solver, amg;
  HYPRE_ParCSRPCGCreate(comm, &solver);
  HYPRE_PCGSetTol(solver, 1e-12);
  HYPRE_PCGSetMaxIter(solver, 50);
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_BoomerAMGSetRelaxType(amg, 6);
  HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                      (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
  HYPRE_ParCSRPCGSetup(solver, A, b, x);
  HYPRE_ParCSRPCGSolve(solver, A, b, x);
  int iterations;
  HYPRE_PCGGetNumIterations(solver, &iterations);
  stack_check("iterations of conjugate gradients", iterations, 20);

  double error = 0;
  for (HYPRE_BigInt row = first; row <= last; row++) {
    double value;
    HYPRE_IJVectorGetValues(solution, 1, &row, &value);
    error = fmax(error, fabs(value - exact((int)row)));
  }
  stack_check("error of the solution", error, 1e-9);

  HYPRE_BoomerAMGDestroy(amg);
  HYPRE_ParCSRPCGDestroy(solver);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_IJVectorDestroy(right);
  HYPRE_IJVectorDestroy(solution);
  HYPRE_Finalize();
  return stack_end();
}
