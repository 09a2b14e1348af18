/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests two processes that die while they send messages to rank 0. For the first one, rank 0 has
 * receives where messages are matched (at the provider, if it matches); for the second one,
 * receives after others from any source. Rank 0 receives all messages that had left, whole and in
 * order, and then gets an error that names the reason. Messages of other processes are not
 * affected.
 *
 *   matched_deaths LAUNCHER     (death.h) */
#include <sched.h>
#include <unistd.h>

#include "death.h"
#include "session_counts.h"
#include "session_world.h"

enum { FIRST_DEAD = 2, SECOND_DEAD = 4, PROCESSES = 6, SURVIVORS = 3 };
enum { ANSWER = 1, NEVER, FLOOD, ORDER };                 /* tags */
enum { TO_DIE = 1, TO_SEND, TO_SEND_ON_OTHER, TO_LEAVE }; /* orders */
enum {
  MESSAGES = 2000,
  LENGTH = 3000,
  TESTS = 1000,
  ROUNDS = 30,
  DOOMED = 3
}; /* 24 MB: more than the network buffers hold */

static MPI_Comm other;

static void order(int process, int what) {
  MUST(MPI_Send(&what, 1, MPI_INT, process, ORDER, world));
}

static int is_survivor(int process) {
  return process != 0 && process != FIRST_DEAD && process != SECOND_DEAD;
}

/* --- other processes */

/* Rank 0 does not poll until this process has ended, so messages beyond the network buffers never
 * leave, and the last one may be truncated. */
static void die_in_the_midst(const char* launcher) {
  int *data = malloc(sizeof(int) * MESSAGES * LENGTH), done;
  MPI_Request* requests = malloc(sizeof(MPI_Request) * MESSAGES);
  const int pid = getpid();
  EXPECT(data != NULL && requests != NULL, "memory");
  MUST(MPI_Send(&pid, 1, MPI_INT, 0, ANSWER, world));
  for (int i = 0; i < MESSAGES; ++i) {
    for (int k = 0; k < LENGTH; ++k) data[i * LENGTH + k] = i + k;
    MUST(MPI_Isend(data + i * LENGTH, LENGTH, MPI_INT, 0, FLOOD, world, &requests[i]));
  }
  for (int i = 0; i < TESTS; ++i) MUST(MPI_Testall(MESSAGES, requests, &done, MPI_STATUSES_IGNORE));
  EXPECT(!done, "all have left");
  die_under(launcher);
}

static void serve_messages(const char* launcher) {
  for (int what = 0; what != TO_LEAVE;) {
    MUST(MPI_Recv(&what, 1, MPI_INT, 0, ORDER, world, MPI_STATUS_IGNORE));
    if (what == TO_DIE) die_in_the_midst(launcher);
    if (what == TO_SEND) MUST(MPI_Send(&rank, 1, MPI_INT, 0, ANSWER, world));
    if (what == TO_SEND_ON_OTHER) MUST(MPI_Send(&rank, 1, MPI_INT, 0, ANSWER, other));
  }
}

/* --- rank 0 */

/* Post the receive before requesting the message. */
static void receive_from(int process) {
  int answer = -1;
  MPI_Request request;
  MUST(MPI_Irecv(&answer, 1, MPI_INT, process, ANSWER, world, &request));
  order(process, TO_SEND);
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(answer == process, "%d from %d", answer, process);
}

/* Receive from any source; receives on the other communicator do not matter. */
static void receive_from_all(int doomed_from) {
  const char* matching = getenv("INTERSESSION_MATCHING");
  const long before = count("messages_matched_by_provider"),
             expected = matching != NULL && strcmp(matching, "provider") == 0 ? ROUNDS : 0;
  for (int round = 0; round < ROUNDS; ++round)
    for (int process = 1; process < size; ++process)
      if (is_survivor(process) || process >= doomed_from) receive_from(process);
  const long matched = count("messages_matched_by_provider") - before;
  EXPECT(matched >= expected, "%ld messages were matched by the provider", matched);
}

static void kill_process(int process) {
  int pid;
  order(process, TO_DIE);
  MUST(MPI_Recv(&pid, 1, MPI_INT, process, ANSWER, world, MPI_STATUS_IGNORE));
  while (kill(pid, 0) == 0) sched_yield();
}

/* Receive all messages that had left, and then the error. */
static void receive_the_rest(int process) {
  static int message[LENGTH];
  int received = 0, code, wrong = 0;
  while ((code = MPI_Recv(message, LENGTH, MPI_INT, process, FLOOD, world, MPI_STATUS_IGNORE)) ==
         MPI_SUCCESS) {
    for (int k = 0; k < LENGTH; ++k) wrong += message[k] != received + k;
    ++received;
  }
  printf("rank 0 received %d messages of process %d\n", received, process);
  EXPECT(class_of(code) == MPI_ERR_PROC_ABORTED, "class %d", class_of(code));
  EXPECT(received < MESSAGES && wrong == 0, "%d messages, %d wrong", received, wrong);
}

static void lose(int process) {
  static int nothing[DOOMED];
  MPI_Request requests[DOOMED];
  for (int i = 0; i < DOOMED; ++i)
    MUST(MPI_Irecv(&nothing[i], 1, MPI_INT, process, NEVER + 10 * i, world, &requests[i]));
  kill_process(process);
  receive_the_rest(process);
  for (int i = 0; i < DOOMED; ++i) {
    const int code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    EXPECT(class_of(code) == MPI_ERR_PROC_ABORTED, "class %d", class_of(code));
  }
}

static void lose_while_gathering(void) {
  int received[SURVIVORS], senders = 0;
  MPI_Request requests[SURVIVORS];
  for (int i = 0; i < SURVIVORS; ++i)
    MUST(MPI_Irecv(&received[i], 1, MPI_INT, MPI_ANY_SOURCE, ANSWER, other, &requests[i]));
  receive_from_all(SECOND_DEAD);
  lose(SECOND_DEAD);
  for (int process = 1; process < size; ++process)
    if (is_survivor(process)) order(process, TO_SEND_ON_OTHER);
  MUST(MPIX_Comm_failure_ack(other));
  MUST(MPI_Waitall(SURVIVORS, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < SURVIVORS; ++i) senders |= 1 << received[i];
  EXPECT(senders == (1 << 1 | 1 << 3 | 1 << 5), "%x", (unsigned)senders);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  open_world("test.matched_deaths");
  EXPECT(size == PROCESSES, "%d processes", size);
  MUST(MPI_Comm_dup(world, &other));
  if (rank == 0) {
    receive_from_all(0);
    lose(FIRST_DEAD);
    receive_from_all(SECOND_DEAD);
    lose_while_gathering();
    receive_from_all(size);
    for (int process = 1; process < size; ++process)
      if (is_survivor(process)) order(process, TO_LEAVE);
  } else {
    serve_messages(argv[1]);
  }
  MUST(MPI_Comm_free(&other));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
