/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the shortest program: session, group, communicator; prints rank, size and host, and checks
 * a sum. */
#include "session_world.h"

int main(void) {
  char host[MPI_MAX_PROCESSOR_NAME];
  int length, sum = 0;
  open_world("test.hello");
  MUST(MPI_Get_processor_name(host, &length));
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
  printf("hello from %d of %d on %s\n", rank, size, host);
  return close_world();
}
