/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a child made by fork() while its parent has sessions: each use of the parent's objects is
 * an MPI error that names the reason; freeing them in the child succeeds and affects only the
 * child; objects without a session work; the parent is not affected. */
#include <sys/wait.h>
#include <unistd.h>

#include "session_world.h"

enum { long_message = 300000, aborted = 42 };

/* The call must fail with the class, and its text must name the parent. */
#define MUST_BE_REFUSED(expected, call)                                                            \
  do {                                                                                             \
    char refusal_text[MPI_MAX_ERROR_STRING] = "";                                                  \
    int refusal_length, refusal_code = (call), refusal_class = MPI_SUCCESS;                        \
    if (refusal_code != MPI_SUCCESS) {                                                             \
      MPI_Error_class(refusal_code, &refusal_class);                                               \
      MPI_Error_string(refusal_code, refusal_text, &refusal_length);                               \
    }                                                                                              \
    EXPECT(refusal_class == (expected), "%s: class %d, not %s", #call, refusal_class, #expected);  \
    EXPECT(strstr(refusal_text, "fork()") != NULL, "%s: the text is \"%s\"", #call, refusal_text); \
  } while (0)

static MPI_Request receive;

static void clean_up(void) {
  if (world != MPI_COMM_NULL) MUST(MPI_Comm_free(&world));
  if (session != MPI_SESSION_NULL) MUST(MPI_Session_finalize(&session));
}

static void communicate(void) {
  int one = 1, sum, flag;
  MPI_Comm copy;
  MPI_Request request = MPI_REQUEST_NULL;
  MUST_BE_REFUSED(MPI_ERR_COMM, MPI_Send(&one, 1, MPI_INT, (rank + 1) % size, 99, world));
  MUST_BE_REFUSED(MPI_ERR_COMM,
                  MPI_Isend(&one, 1, MPI_INT, (rank + 1) % size, 99, world, &request));
  MUST_BE_REFUSED(MPI_ERR_COMM,
                  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, MPI_STATUS_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_COMM, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
  MUST_BE_REFUSED(MPI_ERR_COMM, MPI_Comm_dup(world, &copy));
  MUST_BE_REFUSED(MPI_ERR_COMM, MPI_Comm_rank(world, &rank));
}

static void complete_requests(void) {
  int flag, index, count;
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Waitall(1, &receive, MPI_STATUSES_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Testall(1, &receive, &flag, MPI_STATUSES_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Waitany(1, &receive, &index, MPI_STATUS_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Testany(1, &receive, &index, &flag, MPI_STATUS_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Waitsome(1, &receive, &count, &index, MPI_STATUSES_IGNORE));
  MUST_BE_REFUSED(MPI_ERR_REQUEST, MPI_Testsome(1, &receive, &count, &index, MPI_STATUSES_IGNORE));
  MUST(MPI_Request_free(&receive));
  EXPECT(receive == MPI_REQUEST_NULL, "the request is not null");
}

static void begin_session(void) {
  MPI_Session another;
  MPI_Group group;
  MUST_BE_REFUSED(MPI_ERR_OTHER, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &another));
  MUST_BE_REFUSED(MPI_ERR_SESSION, MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
}

static void use_local_objects(void) {
  MPI_Datatype three;
  MPI_Info info;
  int bytes;
  MUST(MPI_Type_contiguous(3, MPI_INT, &three));
  MUST(MPI_Type_commit(&three));
  MUST(MPI_Type_size(three, &bytes));
  EXPECT(bytes == 3 * (int)sizeof(int), "a size of %d", bytes);
  MUST(MPI_Type_free(&three));
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "key", "value"));
  MUST(MPI_Info_free(&info));
}

static void fork_again(void) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    failures = 0;
    communicate();
    _exit(failures != 0);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "the child of the child ended with status 0x%x", status);
  communicate();
}

/* A fatal error ends the child and not the job of its parent. */
static void fail_fatally(void) {
  int one = 1;
  MPI_Send(&one, 1, MPI_INT, (rank + 1) % size, 99, world);
}

static void abort_child(void) { MPI_Abort(world, aborted); }

/* Use the sessions of the parent after each child. */
static void use_parent(void) {
  static char sent[long_message], received[long_message];
  int sum = -1, next = (rank + 1) % size, last = (rank + size - 1) % size, answer = -1;
  MPI_Comm copy;
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
  MUST(MPI_Comm_dup(world, &copy));
  MUST(MPI_Barrier(copy));
  MUST(MPI_Comm_free(&copy));
  sent[7] = (char)rank;
  MUST(MPI_Sendrecv(sent, long_message, MPI_CHAR, next, 1, received, long_message, MPI_CHAR, last,
                    1, world, MPI_STATUS_IGNORE));
  EXPECT(received[7] == (char)last, "byte 7 is %d", received[7]);
  MUST(MPI_Irecv(&answer, 1, MPI_INT, last, 2, world, &receive));
  MUST(MPI_Send(&rank, 1, MPI_INT, next, 2, world));
  MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  EXPECT(answer == last, "received %d from rank %d", answer, last);
}

static void run_in_child(const char* name, void (*body)(void), int expected) {
  int status = 0, unused;
  pid_t child;
  MUST(MPI_Irecv(&unused, 1, MPI_INT, (rank + size - 1) % size, 3, world, &receive));
  fflush(NULL);
  child = fork();
  if (child == 0) {
    failures = 0;
    body();
    _exit(failures != 0);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status), "%s: the child ended with status 0x%x", name, status);
  if (WIFEXITED(status))
    EXPECT(WEXITSTATUS(status) == expected, "%s: the child exited with %d", name,
           WEXITSTATUS(status));
  MUST(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 3, world));
  MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  use_parent();
}

static void exit_normally(void) { exit(0); }

static void exit_after_use(void) {
  use_local_objects();
  exit(failures != 0);
}

int main(void) {
  atexit(clean_up);
  open_world("forked child");
  run_in_child("exit", exit_normally, 0);
  run_in_child("clean-up", clean_up, 0);
  run_in_child("communication", communicate, 0);
  run_in_child("requests", complete_requests, 0);
  run_in_child("session", begin_session, 0);
  run_in_child("local objects", exit_after_use, 0);
  run_in_child("child of a child", fork_again, 0);
  MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL));
  run_in_child("fatal error", fail_fatally, MPI_ERR_COMM);
  MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
  run_in_child("abort", abort_child, aborted);
  return close_world();
}
