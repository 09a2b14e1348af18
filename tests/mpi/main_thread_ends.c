/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that a process is alive while its main thread has ended (pthread_exit) and another thread
 * runs: the kernel reports such a process as a zombie. */
#include <pthread.h>
#include <unistd.h>

#include "session_world.h"

enum { ITEMS = 1 << 20, TAG = 3 };

static pthread_t main_thread;
static int items[ITEMS];

static void exchange(int with, int round) {
  if (rank == 1) {
    MUST(MPI_Recv(items, ITEMS, MPI_INT, with, TAG, world, MPI_STATUS_IGNORE));
    for (int i = 0; i < ITEMS; ++i) items[i] += 1;
    MUST(MPI_Send(items, ITEMS, MPI_INT, with, TAG, world));
  } else if (rank == with) {
    for (int i = 0; i < ITEMS; ++i) items[i] = i ^ round;
    MUST(MPI_Send(items, ITEMS, MPI_INT, 1, TAG, world));
    MUST(MPI_Recv(items, ITEMS, MPI_INT, 1, TAG, world, MPI_STATUS_IGNORE));
    for (int i = 0; i < ITEMS; ++i)
      if (items[i] != (i ^ round) + 1) {
        EXPECT(0, "round %d, item %d: %d", round, i, items[i]);
        break;
      }
  }
}

/* The other ranks wait for rank 1 longer than the detection of a death takes. */
static void communicate(int round, int waits) {
  if (rank == 1 && waits) usleep(500000);
  for (int with = 0; with < size; ++with)
    if (with != 1) exchange(with, round);
  check_sum(world);
}

static void* go_on(void* unused) {
  (void)unused;
  if (pthread_join(main_thread, NULL) != 0) EXPECT(0, "the main thread cannot be waited for");
  communicate(1, 1);
  exit(close_world());
}

int main(int argc, char** argv) {
  pthread_t rest;
  main_thread = pthread_self();
  open_world("test.main_thread_ends");
  if (argc > 1 && strcmp(argv[1], "late") == 0)
    communicate(0, 0); /* then the processes have accessed each other's memory */
  if (rank != 1) {
    communicate(1, 0);
    return close_world();
  }
  EXPECT(pthread_create(&rest, NULL, go_on, NULL) == 0, "no thread");
  pthread_exit(NULL);
}
