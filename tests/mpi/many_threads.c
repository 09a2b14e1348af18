/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests many threads, each with its own session and communicator, with more processes than cores:
 * waiting threads must not keep the cores from processes that they wait for, also if the launcher
 * puts each process into its own scheduling group.
 *
 *   many_threads N     with N threads */
#include <pthread.h>

#include "session_world.h"

enum { most_threads = 200, sums = 50 };

static int wrong[most_threads];

static void* run_thread(void* number_of_thread) {
  const int number = *(const int*)number_of_thread;
  MPI_Session own;
  MPI_Group group;
  MPI_Comm comm;
  char tag[32];
  snprintf(tag, sizeof tag, "thread %d", number);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  MUST(MPI_Group_from_session_pset(own, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  for (int i = 0; i < sums; i++) {
    int mine = rank + number, sum = -1;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    wrong[number] += sum != size * (size - 1) / 2 + size * number;
  }
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&own));
  return NULL;
}

int main(int argc, char** argv) {
  static pthread_t threads[most_threads];
  static int numbers[most_threads];
  const int count = argc > 1 ? atoi(argv[1]) : 32;
  if (count > most_threads) return 1;
  open_world("many threads");
  for (int i = 0; i < count; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, run_thread, &numbers[i]) != 0) return 1;
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++)
    EXPECT(wrong[i] == 0, "thread %d: %d sums are wrong", i, wrong[i]);
  return close_world();
}
