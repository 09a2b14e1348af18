/* SPDX-License-Identifier: BSD-3-Clause */
/* ELPA: all eigenvalues and eigenvectors of a tridiagonal matrix, stored as a full one in blocks
 * on a grid of 2 x 2 processes. */
#include <complex.h>

#include <elpa/elpa.h>
#include "communicator.h"

enum { ORDER = 64, BLOCK = 8, GRID = 2, LOCAL = ORDER / GRID };

/* Return the index in the matrix of a local index in block-cyclic order. */
static int global_index(int local, int coordinate) {
  return (local / BLOCK * GRID + coordinate) * BLOCK + local % BLOCK;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  const int row = stack.rank % GRID, column = stack.rank / GRID;
  static double matrix[LOCAL * LOCAL], vectors[LOCAL * LOCAL], values[ORDER];
  for (int j = 0; j < LOCAL; j++) {
    for (int i = 0; i < LOCAL; i++) {
      const int distance = abs(global_index(i, row) - global_index(j, column));
      matrix[j * LOCAL + i] = distance == 0 ? 2 : distance == 1 ? -1 : 0;
    }
  }
  int error = elpa_init(20211125);
  stack_check("elpa_init's error", abs(error - ELPA_OK), 0);
  const elpa_t elpa = elpa_allocate(&error);
  const struct {
    const char* name;
    int value;
  } settings[] = {{"na", ORDER},          {"nev", ORDER},
                  {"local_nrows", LOCAL}, {"local_ncols", LOCAL},
                  {"nblk", BLOCK},        {"mpi_comm_parent", MPI_Comm_c2f(comm)},
                  {"process_row", row},   {"process_col", column}};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    elpa_set(elpa, settings[i].name, settings[i].value, &error);
    stack_check(settings[i].name, abs(error - ELPA_OK), 0);
  }
  stack_check("elpa_setup's error", abs(elpa_setup(elpa) - ELPA_OK), 0);
  elpa_eigenvectors(elpa, matrix, values, vectors, &error);
  stack_check("elpa_eigenvectors's error", abs(error - ELPA_OK), 0);

  double wrong = 0;
  for (int k = 0; k < ORDER; k++) {
    wrong = fmax(wrong, fabs(values[k] - (2 - 2 * cos(acos(-1.0) * (k + 1) / (ORDER + 1)))));
  }
  stack_check("error of the eigenvalues", wrong, 1e-12);
  /* The elements of the eigenvectors are sines, up to a sign for each vector. */
  wrong = 0;
  for (int j = 0; j < LOCAL; j++) {
    const int k = global_index(j, column);
    for (int i = 0; i < LOCAL; i++) {
      const double sine = sin(acos(-1.0) * (k + 1) * (global_index(i, row) + 1) / (ORDER + 1));
      const double size = sqrt(2.0 / (ORDER + 1)) * fabs(sine);
      wrong = fmax(wrong, fabs(fabs(vectors[j * LOCAL + i]) - size));
    }
  }
  stack_check("error of the eigenvectors", wrong, 1e-11);
  elpa_deallocate(elpa, &error);
  elpa_uninit(&error);
  return stack_end();
}
