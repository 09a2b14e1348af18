// SPDX-License-Identifier: BSD-3-Clause
// Epetra: multiply an eigenvector by a distributed matrix, and move a vector to another
// distribution.
#include <Epetra_CrsMatrix.h>
#include <Epetra_Import.h>
#include <Epetra_Map.h>
#include <Epetra_MpiComm.h>
#include <Epetra_Vector.h>

#include "communicator.h"

constexpr int kPoints = 100;

static double eigenvector(int index) {
  return std::sin(std::acos(-1.0) * (index + 1) / (kPoints + 1));
}

static void check(MPI_Comm mpi_comm) {
  const Epetra_MpiComm comm(mpi_comm);
  const Epetra_Map map(kPoints, 0, comm);
  Epetra_CrsMatrix matrix(Copy, map, 3);
  Epetra_Vector x(map), y(map);
  for (int i = 0; i < map.NumMyElements(); i++) {
    const int row = map.GID(i);
    const int columns[] = {row, row > 0 ? row - 1 : row + 1, row + 1};
    const double values[] = {2, -1, -1};
    matrix.InsertGlobalValues(row, row > 0 && row < kPoints - 1 ? 3 : 2, values, columns);
    x[i] = eigenvector(row);
  }
  matrix.FillComplete();
  matrix.Multiply(false, x, y);
  const double eigenvalue = 2 - 2 * std::cos(std::acos(-1.0) / (kPoints + 1));
  double error = 0, square;
  for (int i = 0; i < map.NumMyElements(); i++) {
    error = std::fmax(error, std::fabs(y[i] - eigenvalue * x[i]));
  }
  stack_check("error of the product", error, 1e-14);
  x.Dot(x, &square);
  stack_check("error of the dot product", std::fabs(square - (kPoints + 1) / 2.0), 1e-12);

  // The first process gets all points.
  const Epetra_Map gathered(kPoints, comm.MyPID() == 0 ? kPoints : 0, 0, comm);
  Epetra_Vector all(gathered);
  all.Import(x, Epetra_Import(gathered, map), Insert);
  error = 0;
  for (int i = 0; i < gathered.NumMyElements(); i++) {
    error = std::fmax(error, std::fabs(all[i] - eigenvector(i)));
  }
  stack_check("error of the gathered vector", error, 0);
}

int main() {
  check(stack_begin());
  return stack_end();
}
