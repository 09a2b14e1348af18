/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests MPI_Finalize when no thread can be created: it warns and continues without the thread that
 * would make progress on session messages. */
#define _GNU_SOURCE
#include <pthread.h>

#include "session_world.h"

static void use_up_threads(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, (size_t)1 << 46) == 0,
         "a stack that no process has room for");
  EXPECT(pthread_setattr_default_np(&attributes) == 0, "is the default stack size of threads now");
  pthread_attr_destroy(&attributes);
}

static void use_world(void) {
  int sum = 0;
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
}

int main(int argc, char** argv) {
  MUST(MPI_Init(&argc, &argv));
  open_world("test.no_thread");
  use_up_threads();
  use_world();
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Finalize());
  use_world();
  return close_world();
}
