/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests creations whose missing member can no longer call: they end with an error after 30 s, both
 * at the same time.
 *
 *   - processes 0 and 1 wait for each other under different tags; each has another thread, which
 *   could call but does not
 *   - process 2 waits for process 3, which has finalized its last session */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "session_world.h"

enum { PROCESSES = 4, LEAST_SECONDS = 29, MOST_SECONDS = 45 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* wait_for_mutex(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return unused;
}

/* Create a communicator over two processes: it must fail in time, with this class and text. */
static void fail_to_create(const char* tag, const int* ranks, int expected, const char* part) {
  MPI_Group all, group;
  MPI_Comm made;
  char text[MPI_MAX_ERROR_STRING];
  int class = MPI_SUCCESS, length;
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  MUST(MPI_Group_incl(all, 2, ranks, &group));
  const double begun = MPI_Wtime();
  const int code = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  const double seconds = MPI_Wtime() - begun;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d: error text after %.1f s: %s\n", rank, seconds, text);
  EXPECT(class == expected && strstr(text, part) != NULL, "class %d: %s", class, text);
  EXPECT(seconds > LEAST_SECONDS && seconds < MOST_SECONDS, "%.1f s", seconds);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&all));
}

int main(void) {
  sigset_t end;
  pthread_t other;
  int pid = getpid(), peer = 0, signal_number;
  sigemptyset(&end);
  sigaddset(&end, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &end, NULL);
  open_world("test.stuck");
  EXPECT(size == PROCESSES, "%d processes", size);
  if (rank == 3) MUST(MPI_Send(&pid, 1, MPI_INT, 2, 0, world));
  if (rank == 2) MUST(MPI_Recv(&peer, 1, MPI_INT, 3, 0, world, MPI_STATUS_IGNORE));
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  if (rank < 2) {
    pthread_mutex_lock(&mutex);
    pthread_create(&other, NULL, wait_for_mutex, NULL);
    fail_to_create(rank == 0 ? "test.one" : "test.another", (int[]){0, 1}, MPI_ERR_NOT_SAME,
                   "disagree on the tag");
    pthread_mutex_unlock(&mutex);
    pthread_join(other, NULL);
  } else if (rank == 2) {
    fail_to_create("test.finalized", (int[]){2, 3}, MPI_ERR_PROC_ABORTED,
                   "process 3 finalized its last session");
    kill(peer, SIGUSR2);
  }
  MUST(MPI_Session_finalize(&session));
  if (rank == 3) sigwait(&end, &signal_number);
  return verdict();
}
