/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests when libfabric opens.
 *
 *   fabric_opens creation       with the first communicator over nodes, without a message
 *   fabric_opens first_message  not before the first message */
#include <time.h>

#include "session_counts.h"
#include "session_world.h"

static int fabric_is_open(void) { return count("fabric_open") == 1; }

/* Make progress without a message: a call takes over what a background thread has opened. */
static void wait_for_it(void) {
  int flag;
  const time_t last = time(NULL) + 60;
  while (!fabric_is_open() && time(NULL) < last)
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &flag, MPI_STATUS_IGNORE));
  EXPECT(fabric_is_open(), "still closed");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  open_world("test.fabric_opens");
  if (strcmp(argv[1], "creation") == 0)
    wait_for_it();
  else
    EXPECT(!fabric_is_open(), "open before the first message");
  MUST(MPI_Barrier(world));
  EXPECT(fabric_is_open(), "after a barrier");
  return close_world();
}
