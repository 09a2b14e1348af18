/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a reduction operation that ends its thread (pthread_exit) while the process waits in a
 * collective call of the world model. Over MPICH the operation runs on Intersession's progress
 * thread: a new thread replaces it each time, and session communicators make progress. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "session_world.h"

enum { rounds = 5, longest_wait_s = 20 };

static pthread_t main_thread;
static int ended_threads; /* of rank 0 */
static atomic_int*
    operations; /* operations that rank 0 has begun; in memory that both processes share */

static void end_thread(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  if (rank == 0) {
    const int is_ours = !pthread_equal(pthread_self(), main_thread);
    ended_threads += is_ours;
    atomic_fetch_add(operations, 1);
    if (is_ours) pthread_exit(NULL);
  }
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void wait_for_operation(int number) {
  const time_t end = time(NULL) + longest_wait_s;
  while (atomic_load(operations) < number && time(NULL) < end) sched_yield();
  EXPECT(atomic_load(operations) == number, "rank 0 has begun %d operations, not %d",
         atomic_load(operations), number);
}

/* Rank 1 starts its reduction when rank 0 is about to enter the barrier, and enters the barrier
 * when rank 0 has called the operation. */
static void reduce(MPI_Comm comm, MPI_Op op, int number) {
  MPI_Request request;
  int one = 1, sum = 0, code;
  char byte = 0;
  if (rank == 1) MUST(MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MUST(MPI_Ireduce(&one, &sum, 1, MPI_INT, op, 0, comm, &request));
  const int ended_before = ended_threads;
  if (rank == 0) MUST(MPI_Send(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  if (rank == 1)
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* an error if rank 0 has reported one in time */
  if (rank == 1) wait_for_operation(number);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) return;
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT((code != MPI_SUCCESS) == (ended_threads > ended_before), "code %d after %d ended threads",
         code, ended_threads);
}

int main(int argc, char** argv) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, unit;
  MPI_Aint bytes;
  MPI_Op op;
  MPI_Win shared;
  main_thread = pthread_self();
  MPI_Init(&argc, &argv);
  open_world("test.ended_progress");
  MUST(MPI_Win_allocate_shared(rank == 0 ? sizeof *operations : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &operations, &shared));
  MUST(MPI_Win_shared_query(shared, 0, &bytes, &unit, &operations));
  if (rank == 0) atomic_init(operations, 0);
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Op_create(end_thread, 1, &op));
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    MUST(MPI_Comm_dup(world, &comm));
    reduce(comm, op, round + 1);
    MUST(MPI_Comm_free(&comm));
  }
  MUST(MPI_Get_library_version(version, &length));
  const int expected = rank == 0 && strstr(version, "MPICH") != NULL ? rounds : 0;
  EXPECT(ended_threads == expected, "%d threads have ended, not %d", ended_threads, expected);
  MUST(MPI_Op_free(&op));
  const int status = close_world();
  MPI_Win_free(&shared);
  MPI_Finalize();
  return status;
}
