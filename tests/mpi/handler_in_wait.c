/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests an error handler of the world model that uses sessions while the native library calls it in
 * MPI_Waitall: no lock that the session calls need is held. Two threads have used the communicator,
 * so its biased locks are no longer owned by one thread. */
#include <pthread.h>

#include "session_world.h"

static int calls;

static void send_to_oneself(void) {
  int out = 7, in = 0;
  MPI_Request request;
  MUST(MPI_Irecv(&in, 1, MPI_INT, rank, 1, world, &request));
  MUST(MPI_Send(&out, 1, MPI_INT, rank, 1, world));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(in == 7, "got %d", in);
}

static void* of_another_thread(void* nothing) {
  send_to_oneself();
  return nothing;
}

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++calls;
  send_to_oneself();
}

/* The first request is complete when MPI_Waitall processes the second, which fails. */
static void wait_for_both(int wants_statuses) {
  const int next = (rank + 1) % size,
            before = (rank + size - 1) %
                     size; /* these libraries do not report a truncated message to oneself */
  int out = 3, in = 0, two[2] = {1, 2}, one[1];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  calls = 0;
  MUST(MPI_Isend(&out, 1, MPI_INT, rank, 2, world, &requests[0]));
  MUST(MPI_Isendrecv(two, 2, MPI_INT, next, 8, one, 1, MPI_INT, before, 8, MPI_COMM_WORLD,
                     &requests[1]));
  MUST_FAIL(MPI_ERR_IN_STATUS,
            MPI_Waitall(2, requests, wants_statuses ? statuses : MPI_STATUSES_IGNORE));
  EXPECT(calls == 1 && requests[0] == MPI_REQUEST_NULL, "%d calls", calls);
  MUST(MPI_Recv(&in, 1, MPI_INT, rank, 2, world, MPI_STATUS_IGNORE));
  EXPECT(in == 3, "got %d", in);
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Errhandler own;
  MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  open_world("handler in wait");
  MUST(MPI_Comm_create_errhandler(handler, &own));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, own));
  EXPECT(pthread_create(&thread, NULL, of_another_thread, NULL) == 0, "a second thread");
  pthread_join(thread, NULL);
  wait_for_both(0);
  wait_for_both(1);
  MUST(MPI_Errhandler_free(&own));
  int failed = close_world();
  MUST(MPI_Finalize());
  return failed;
}
