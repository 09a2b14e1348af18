/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests receives that are freed while they are active (MPI-4.1 §3.7.3): MPI_Comm_free,
 * MPI_Comm_disconnect and MPI_Session_finalize wait for them, and the sender's call succeeds.
 *
 *   freed_receives END BYTES SENDER
 *
 *   END     how the communicator ends: free or disconnect
 *   SENDER  late: sends after the receiver has called MPI_Request_free; early: sends before; never:
 *           does not send; each_other: both processes have freed receives, and none sends */
#include <time.h>

#include "session_world.h"

enum { TAG = 7 };

static double seconds_since(const struct timespec* begin) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

int main(int argc, char** argv) {
  const char *end = argv[1], *when = argc > 3 ? argv[3] : "late";
  const int bytes = atoi(argv[2]);
  char* data = malloc((size_t)bytes);
  int go = 1;
  MPI_Request request;
  open_world("freed receives");
  memset(data, rank == 0 ? 7 : 0, (size_t)bytes);
  if (strcmp(when, "each_other") == 0) {
    MUST(MPI_Irecv(data, bytes, MPI_CHAR, 1 - rank, TAG, world, &request));
    MUST(MPI_Request_free(&request));
  } else if (rank == 1) {
    MUST(MPI_Irecv(data, bytes, MPI_CHAR, 0, TAG, world, &request));
    if (strcmp(when, "early") == 0)
      MUST(MPI_Recv(&go, 1, MPI_INT, 0, TAG + 1, world, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&request));
    /* the last message of this process; rank 0 sends when this process may be in
     * MPI_Session_finalize */
    if (strcmp(when, "late") == 0) MUST(MPI_Send(&go, 1, MPI_INT, 0, TAG + 1, world));
  } else {
    if (strcmp(when, "early") == 0) {
      MUST(MPI_Isend(data, bytes, MPI_CHAR, 1, TAG, world, &request));
      MUST(MPI_Send(&go, 1, MPI_INT, 1, TAG + 1, world));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (strcmp(when, "late") == 0) {
      MUST(MPI_Recv(&go, 1, MPI_INT, 1, TAG + 1, world, MPI_STATUS_IGNORE));
      const struct timespec pause = {
          .tv_nsec = 200000000}; /* rank 1 makes no call after this; wait until it has ended */
      nanosleep(&pause, NULL);
      MUST(MPI_Send(data, bytes, MPI_CHAR, 1, TAG, world));
    }
  }
  MUST(strcmp(end, "disconnect") == 0 ? MPI_Comm_disconnect(&world) : MPI_Comm_free(&world));
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  MUST(MPI_Session_finalize(&session));
  if (strcmp(when, "never") == 0)
    EXPECT(seconds_since(&begin) < 10, "waited %f s for a process that has left",
           seconds_since(&begin));
  else if (strcmp(when, "each_other") != 0)
    EXPECT(data[0] == 7 && data[bytes - 1] == 7, "the first byte is %d, the last %d", data[0],
           data[bytes - 1]);
  free(data);
  return verdict();
}
