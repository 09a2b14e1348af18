// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <cstdio>

int main() {
  MPI_Session session;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 1;
  if (session == MPI_SESSION_NULL) return 1;
  if (MPI_Session_finalize(&session) != MPI_SUCCESS) return 1;
  std::printf("test passed\n");
  return 0;
}
