/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that wait for long, for their reports (hangs.toml). Rank 1 comes late; the job succeeds. */
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "session_world.h"

enum { tag = 7 };

static void sleep_for(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

/* The receive that rank 0 waits in has no send for 2 s. */
static void receive(void) {
  int value = 1;
  if (rank == 1) {
    sleep_for(2);
    MUST(MPI_Send(&value, 1, MPI_INT, 0, tag, world));
  } else if (rank == 0) {
    MUST(MPI_Recv(&value, 1, MPI_INT, 1, tag, world, MPI_STATUS_IGNORE));
  }
}

static void wait_for_request(void) {
  int value = 1;
  MPI_Request request;
  if (rank == 1) {
    sleep_for(2);
    MUST(MPI_Send(&value, 1, MPI_INT, 0, tag, world));
  } else if (rank == 0) {
    MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void wait_for_requests(void) {
  int values[2] = {1, 1};
  MPI_Request requests[2];
  if (rank == 1) {
    sleep_for(2);
    for (int i = 0; i < 2; ++i) MUST(MPI_Send(&values[i], 1, MPI_INT, 0, tag + i, world));
  } else if (rank == 0) {
    for (int i = 0; i < 2; ++i)
      MUST(MPI_Irecv(&values[i], 1, MPI_INT, 1, tag + i, world, &requests[i]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
}

/* The first barriers use messages, later ones shared memory. */
static void barrier(int earlier) {
  for (int i = 0; i < earlier; ++i) MUST(MPI_Barrier(world));
  if (rank == 1) sleep_for(2);
  MUST(MPI_Barrier(world));
}

/* Rank 1 sends rank 0 the report signal while it waits. */
static void request_by_signal(void) {
  int value = 0;
  if (rank == 1) {
    MUST(MPI_Recv(&value, 1, MPI_INT, 0, tag, world, MPI_STATUS_IGNORE));
    sleep_for(1);
    EXPECT(kill((pid_t)value, SIGUSR1) == 0, "kill");
    sleep_for(1);
    MUST(MPI_Send(&value, 1, MPI_INT, 0, tag, world));
  } else if (rank == 0) {
    value = (int)getpid();
    MUST(MPI_Send(&value, 1, MPI_INT, 1, tag, world));
    MUST(MPI_Recv(&value, 1, MPI_INT, 1, tag, world, MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  const char* scenario = argc > 1 ? argv[1] : "";
  open_world("test.hangs");
  MUST(MPI_Comm_set_name(world, "halo"));
  if (strcmp(scenario, "receive") == 0) receive();
  if (strcmp(scenario, "wait") == 0) wait_for_request();
  if (strcmp(scenario, "waitall") == 0) wait_for_requests();
  if (strcmp(scenario, "barrier") == 0) barrier(0);
  if (strcmp(scenario, "later_barrier") == 0) barrier(8);
  if (strcmp(scenario, "signal") == 0) request_by_signal();
  if (strcmp(scenario, "unfinished") == 0) return verdict(); /* no MPI_Session_finalize */
  if (strcmp(scenario, "leak") == 0) {
    MPI_Comm copy;
    MUST(MPI_Comm_dup(world, &copy));
    MUST(MPI_Session_finalize(&session));
    return verdict();
  }
  return close_world();
}
