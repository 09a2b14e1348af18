/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that a program that computes, and calls test or probe functions at times, gets an error for
 * a dead process as a waiting program does. */
#include <time.h>

#include "death.h"
#include "session_world.h"

enum { TAG = 5, VICTIM = 1, MOST_CALLS = 300 };

typedef struct Call {
  const char* name;
  int source;
} Call;

/* Compute between two calls. */
static void compute(void) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
  nanosleep(&pause, NULL);
}

static int poll_once(const Call* call, MPI_Request* request) {
  int flag = 0, index, count, indices[1];
  MPI_Message message;
  MPI_Status status;
  int code = MPI_SUCCESS;
  if (strcmp(call->name, "iprobe") == 0)
    code = MPI_Iprobe(call->source, TAG, world, &flag, &status);
  if (strcmp(call->name, "improbe") == 0)
    code = MPI_Improbe(call->source, TAG, world, &flag, &message, &status);
  if (strcmp(call->name, "test") == 0) code = MPI_Test(request, &flag, &status);
  if (strcmp(call->name, "testany") == 0) code = MPI_Testany(1, request, &index, &flag, &status);
  if (strcmp(call->name, "testsome") == 0)
    code = MPI_Testsome(1, request, &count, indices, &status), flag = count == 1;
  if (strcmp(call->name, "testall") == 0) code = MPI_Testall(1, request, &flag, &status);
  if (class_of(code) == MPI_ERR_IN_STATUS) code = status.MPI_ERROR;
  EXPECT(code != MPI_SUCCESS || !flag, "%s: found a message; no process sends one", call->name);
  return code;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Call call = {argv[2], strcmp(argv[3], "any") == 0 ? MPI_ANY_SOURCE : VICTIM};
  const int is_probe = strstr(call.name, "probe") != NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS, calls = 0, value;
  open_world("test.polled_deaths");
  if (!is_probe && rank != VICTIM)
    MUST(MPI_Irecv(&value, 1, MPI_INT, VICTIM, TAG, world, &request));
  wait_for_other_ranks(VICTIM);
  if (rank == VICTIM) die_under(argv[1]);
  for (; calls < MOST_CALLS && code == MPI_SUCCESS; ++calls) {
    compute();
    code = poll_once(&call, &request);
  }
  EXPECT(is_death_class(class_of(code)), "%s: class %d after %d calls", call.name, class_of(code),
         calls);
  EXPECT(calls < MOST_CALLS / 3, "%s: %d calls", call.name, calls);
  if (request != MPI_REQUEST_NULL) MUST(MPI_Request_free(&request));
  check_survivors(VICTIM);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
