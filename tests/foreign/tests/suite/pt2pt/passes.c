/* SPDX-License-Identifier: BSD-3-Clause */
/* Each process receives from its left neighbour; MPI_COMM_SELF has one process; arguments and
 * environment are passed on. */
#include <stdlib.h>
#include <string.h>
#include "mpitest.h"

int main(int argc, char** argv) {
  int rank, size, alone, received = -1, errors = 0;
  const char* word = getenv("FOREIGN_WORD");
#ifdef ANOTHER_NAME
  if (!strstr(argv[0], "another_name")) errors++;
#endif
  if (argc > 1 && (strcmp(argv[1], "-word=two") != 0 || !word || strcmp(word, "2") != 0)) errors++;
  MTest_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_size(MPI_COMM_SELF, &alone);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (received != (rank + size - 1) % size || alone != 1) errors++;
  MTest_Finalize(errors);
  return errors != 0;
}
