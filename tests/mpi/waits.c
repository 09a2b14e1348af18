/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates a communicator, prints its process id, and waits in a receive without a sender
 * (killed.sh). */
#include <unistd.h>

#include "session_world.h"

int main(void) {
  int value;
  open_world("test.waits");
  MUST(MPI_Barrier(world));
  printf("waiting %d\n", (int)getpid());
  fflush(stdout);
  MUST(MPI_Recv(&value, 1, MPI_INT, rank, 1, world, MPI_STATUS_IGNORE));
  return 0;
}
