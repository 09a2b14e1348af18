/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls a function of MPI-4.0. */
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, received = -1;
  MPI_Request request;
  MTest_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Isendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT,
                (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MTest_Finalize(received != (rank + size - 1) % size);
  return 0;
}
