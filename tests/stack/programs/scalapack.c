/* SPDX-License-Identifier: BSD-3-Clause */
/* ScaLAPACK: solve a dense system on a grid of 2 x 2 processes that BLACS makes from the
 * communicator. */
#include "communicator.h"

enum { ORDER = 64, BLOCK = 8, GRID = 2, LOCAL = ORDER / GRID };

int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void Cfree_blacs_system_handle(int handle);
void descinit_(int* descriptor, const int* rows, const int* columns, const int* row_block,
               const int* column_block, const int* row_source, const int* column_source,
               const int* context, const int* leading, int* info);
void pdgesv_(const int* order, const int* columns, double* a, const int* ia, const int* ja,
             const int* descriptor_a, int* pivots, double* b, const int* ib, const int* jb,
             const int* descriptor_b, int* info);

static int global_index(int local, int coordinate) {
  return (local / BLOCK * GRID + coordinate) * BLOCK + local % BLOCK;
}
static double entry(int i, int j) { return cos(0.7 * i * j) + (i == j ? ORDER : 0); }
static double exact(int i) { return sin(0.3 * i) + 1; }

int main(void) {
  const MPI_Comm comm = stack_begin();
  const int handle = Csys2blacs_handle(comm);
  int context = handle, rows, columns, row, column;
  Cblacs_gridinit(&context, "Row", GRID, GRID);
  Cblacs_gridinfo(context, &rows, &columns, &row, &column);
  stack_check("error of the grid", abs(rows - GRID) + abs(columns - GRID), 0);

  static double matrix[LOCAL * LOCAL], right[LOCAL];
  static int pivots[LOCAL + BLOCK];
  for (int i = 0; i < LOCAL; i++) {
    const int global_row = global_index(i, row);
    for (int j = 0; j < LOCAL; j++) {
      matrix[j * LOCAL + i] = entry(global_row, global_index(j, column));
    }
    right[i] = 0;
    for (int j = 0; j < ORDER; j++) right[i] += entry(global_row, j) * exact(j);
  }
  const int order = ORDER, block = BLOCK, local = LOCAL, zero = 0, one = 1;
  int of_matrix[9], of_right[9], info;
  descinit_(of_matrix, &order, &order, &block, &block, &zero, &zero, &context, &local, &info);
  stack_check("error code of descinit", abs(info), 0);
  descinit_(of_right, &order, &one, &block, &one, &zero, &zero, &context, &local, &info);
  pdgesv_(&order, &one, matrix, &one, &one, of_matrix, pivots, right, &one, &one, of_right, &info);
  stack_check("error code of pdgesv", abs(info), 0);
  double error = 0;
  for (int i = 0; i < LOCAL && column == 0; i++) {
    error = fmax(error, fabs(right[i] - exact(global_index(i, row))));
  }
  stack_check("error of the solution", error, 1e-12);
  Cblacs_gridexit(context);
  Cfree_blacs_system_handle(handle);
  return stack_end();
}
