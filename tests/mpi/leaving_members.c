/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests members that end their sessions one after another while rank 0 receives from any source,
 * also members that have never sent to it: they have not failed. */
#include <unistd.h>

#include "session_world.h"

enum { TAG = 7, LAST_MS = 1200, STEP_MS = 100 };

int main(void) {
  MPI_Group group;
  int value = -1, failed;
  open_world("test.leaving_members");
  const int last = size - 1;
  if (rank != 0) {
    usleep(1000u * (unsigned)(rank == last ? LAST_MS : STEP_MS * rank));
    if (rank % 2 == 1 || rank == last) MUST(MPI_Send(&rank, 1, MPI_INT, 0, TAG, world));
  } else {
    while (value != last)
      MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, MPI_STATUS_IGNORE));
    MUST(MPIX_Comm_get_failed(world, &group));
    MUST(MPI_Group_size(group, &failed));
    EXPECT(failed == 0, "%d have failed", failed);
    MUST(MPI_Group_free(&group));
  }
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
