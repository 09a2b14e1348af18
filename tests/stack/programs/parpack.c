/* SPDX-License-Identifier: BSD-3-Clause */
/* PARPACK: the largest eigenvalues of a tridiagonal matrix, which are known. Its Fortran
 * procedures get the Fortran integer of the communicator. */
#include "communicator.h"

enum { LOCAL = 12, WANTED = 4, BASIS = 20, WORK = BASIS * (BASIS + 8) };

/* The Fortran interface; the last arguments are the lengths of the strings. */
void pdsaupd_(const int* comm, int* ido, const char* bmat, const int* n, const char* which,
              const int* nev, const double* tol, double* resid, const int* ncv, double* v,
              const int* ldv, int* iparam, int* ipntr, double* products, double* workspace,
              const int* workspace_length, int* info, size_t bmat_length, size_t which_length);
void pdseupd_(const int* comm, const int* rvec, const char* howmny, const int* select, double* d,
              double* z, const int* ldz, const double* sigma, const char* bmat, const int* n,
              const char* which, const int* nev, const double* tol, double* resid, const int* ncv,
              double* v, const int* ldv, int* iparam, int* ipntr, double* products,
              double* workspace, const int* workspace_length, int* info, size_t howmny_length,
              size_t bmat_length, size_t which_length);

/* Multiply by the matrix with 2 on the diagonal and -1 beside it. */
static void multiply(const double* in, double* out) {
  const int left = stack.rank > 0 ? stack.rank - 1 : MPI_PROC_NULL;
  const int right = stack.rank < stack.size - 1 ? stack.rank + 1 : MPI_PROC_NULL;
  double before = 0, after = 0;
  MPI_Sendrecv(&in[LOCAL - 1], 1, MPI_DOUBLE, right, 0, &before, 1, MPI_DOUBLE, left, 0, stack.comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&in[0], 1, MPI_DOUBLE, left, 1, &after, 1, MPI_DOUBLE, right, 1, stack.comm,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < LOCAL; i++) {
    out[i] = 2 * in[i] - (i > 0 ? in[i - 1] : before) - (i < LOCAL - 1 ? in[i + 1] : after);
  }
}

int main(void) {
  const int comm = MPI_Comm_c2f(stack_begin());
  const int local = LOCAL, wanted = WANTED, basis = BASIS, work = WORK;
  const double tolerance = 1e-12, sigma = 0;
  double residual[LOCAL], vectors[LOCAL * BASIS], products[3 * LOCAL], workspace[WORK],
      values[WANTED];
  int iparam[11] = {1, 0, 1000, 1, 0, 0, 1}, ipntr[14] = {0}, ido = 0, info = 0;
  do {
    pdsaupd_(&comm, &ido, "I", &local, "LM", &wanted, &tolerance, residual, &basis, vectors, &local,
             iparam, ipntr, products, workspace, &work, &info, 1, 2);
    if (abs(ido) == 1) multiply(&products[ipntr[0] - 1], &products[ipntr[1] - 1]);
  } while (abs(ido) == 1);
  stack_check("error code of pdsaupd", abs(info), 0);

  const int with_vectors = 0;
  int select[BASIS] = {0};
  pdseupd_(&comm, &with_vectors, "A", select, values, vectors, &local, &sigma, "I", &local, "LM",
           &wanted, &tolerance, residual, &basis, vectors, &local, iparam, ipntr, products,
           workspace, &work, &info, 1, 1, 2);
  stack_check("error code of pdseupd", abs(info), 0);
  const int order = LOCAL * stack.size;
  double error = 0;
  for (int i = 0; i < WANTED; i++) { /* ascending */
    const double angle = acos(-1.0) * (order - WANTED + 1 + i) / (order + 1);
    error = fmax(error, fabs(values[i] - (2 - 2 * cos(angle))));
  }
  stack_check("error of the eigenvalues", error, 1e-10);
  return stack_end();
}
