/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a known number of calls on a session communicator and on MPI_COMM_WORLD, for the tool to
 * count. */
#include "../session_world.h"

enum { kOnSession = 3, kOnWorld = 2 };

static void ring(MPI_Comm comm, int times) {
  for (int i = 0; i < times; ++i) {
    int value = rank, got = -1;
    MPI_Request request;
    MUST(MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, i, comm, &request));
    MUST(MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT(got == (rank + size - 1) % size, "got %d", got);
    MUST(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, i, comm));
  }
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv));
  open_world("test.traffic");
  ring(world, kOnSession);
  ring(MPI_COMM_WORLD, kOnWorld);
  int code = close_world();
  MUST(MPI_Finalize());
  return code;
}
