/* SPDX-License-Identifier: BSD-3-Clause */
/* SUNDIALS: CVODE solves heat diffusion on a ring of points; the first Fourier mode decays by a
 * known exponential. */
#include <cvode/cvode.h>
#include <nvector/nvector_parallel.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include "communicator.h"

enum { LOCAL = 16 };
static const double end_time = 1.0;

static double exact(int index, int points, double time) {
  const double step = 2 * acos(-1.0) / points;
  return exp(-2 * (1 - cos(step)) * time) * cos(step * index);
}

/* y' of each point: the sum of its neighbors less twice its own value. */
static int derivative(realtype time, N_Vector y, N_Vector out, void* unused) {
  (void)time, (void)unused;
  const realtype* value = N_VGetArrayPointer(y);
  realtype* slope = N_VGetArrayPointer(out);
  const int left = (stack.rank + stack.size - 1) % stack.size;
  const int right = (stack.rank + 1) % stack.size;
  realtype before, after;
  MPI_Sendrecv(&value[LOCAL - 1], 1, MPI_DOUBLE, right, 0, &before, 1, MPI_DOUBLE, left, 0,
               stack.comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&value[0], 1, MPI_DOUBLE, left, 1, &after, 1, MPI_DOUBLE, right, 1, stack.comm,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < LOCAL; i++) {
    slope[i] = (i > 0 ? value[i - 1] : before) + (i < LOCAL - 1 ? value[i + 1] : after) -
               2 * value[i];
  }
  return 0;
}

int main(void) {
  MPI_Comm comm = stack_begin();
  const int points = LOCAL * stack.size;
  SUNContext context;
  SUNContext_Create(&comm, &context);
  N_Vector y = N_VNew_Parallel(comm, LOCAL, points, context);
  realtype* value = N_VGetArrayPointer(y);
  for (int i = 0; i < LOCAL; i++) value[i] = exact(stack.rank * LOCAL + i, points, 0);
  stack_check("error of the norm of the start", fabs(N_VDotProd(y, y) - points / 2.0), 1e-12);

  void* solver = CVodeCreate(CV_BDF, context);
  CVodeInit(solver, derivative, 0, y);
  CVodeSStolerances(solver, 1e-10, 1e-12);
  SUNLinearSolver linear = SUNLinSol_SPGMR(y, SUN_PREC_NONE, 0, context);
  CVodeSetLinearSolver(solver, linear, NULL);
  realtype reached = 0;
  const int code = CVode(solver, end_time, y, &reached, CV_NORMAL);
  stack_check("CVODE's return code", abs(code), 0);

  double error = 0;
  for (int i = 0; i < LOCAL; i++) {
    error = fmax(error, fabs(value[i] - exact(stack.rank * LOCAL + i, points, end_time)));
  }
  stack_check("error of the solution", error, 1e-7);

  CVodeFree(&solver);
  SUNLinSolFree(linear);
  N_VDestroy(y);
  SUNContext_Free(&context);
  return stack_end();
}
