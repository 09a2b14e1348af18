/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes die, one after the other, while rank 0 waits for each of them in another way: every wait ends with an error that says so, and who. Of the
 * long messages, each larger than all that may lie between the two, a part has come by then. The last is told to begin by a message that is long itself: what
 * goes to the living does not wait for the dead.
 *
 *   partner_dies LAUNCHER [whole]     (death.h)
 *
 * whole: processes read and write each other's memory. Who has the order to die may get no core until rank 0 has read a message to its end, and
 * who is about to until rank 0 has written one; such a message is there, and the wait for it need not end with an error.
 */
#include <poll.h>
#include <sys/syscall.h>

#include "death.h"
#include "session_world.h"

enum { RECEIVE = 1, SYNCHRONOUS_SEND, LONG_RECEIVE, LONG_SEND, HALF_RECEIVE, PROCESSES };
enum { LONG = 64 << 20, ORDER = 4 << 20, START = 1, TAG = 5 };

static const char *launcher;
static const int death = SIGUSR2; /* by SIGUSR1 Hydra tells the others */

/* Of the message that tells it to begin. Who dies by itself may do so before its sender has done with a long one. */
static int order_to(int partner) { return partner == HALF_RECEIVE ? ORDER : 0; }

static void die_at_once(int number) {
  (void)number;
  die_under(launcher);
}

/* Where both copy a message they begin at its end. */
static int has_begun(const char *data) { return data[0] != 0 || data[LONG - 1] != 0; }

/* Begins its part of a long message, and moves it until it is killed or, which only it sees, bytes have come. */
static void be_partner(char *data) {
  const int pid = getpid();
  MPI_Request request = MPI_REQUEST_NULL;
  int done;
  signal(death, die_at_once);
  MUST(MPI_Send(&pid, 1, MPI_INT, 0, START, world));
  MUST(MPI_Recv(data, order_to(rank), MPI_BYTE, 0, START, world, MPI_STATUS_IGNORE));
  memset(data, rank != LONG_SEND, LONG);
  if (rank == LONG_RECEIVE || rank == HALF_RECEIVE) MUST(MPI_Isend(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  if (rank == LONG_SEND) MUST(MPI_Irecv(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  while (request != MPI_REQUEST_NULL && (rank != LONG_SEND || !has_begun(data))) MUST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  while (rank == LONG_RECEIVE || rank == HALF_RECEIVE) pause();
}

/* Once a part of its message is here. A process that its launcher has not waited for yet still has a number, so signals find it. */
static void kill_sender(int partner, int pid, const char *data, MPI_Request *request) {
  struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
  int done;
  EXPECT(end.fd >= 0, "process %d", pid);
  while (!has_begun(data)) MUST(MPI_Test(request, &done, MPI_STATUS_IGNORE));
  EXPECT(kill(pid, death) == 0, "process %d", pid);
  while (partner == HALF_RECEIVE && poll(&end, 1, -1) != 1) { /* Hydra's signal */
  }
  close(end.fd);
}

static void wait_for(int partner, char *data, int may_be_whole) {
  MPI_Request request;
  int pid, code, class = MPI_SUCCESS, length;
  char text[MPI_MAX_ERROR_STRING] = "", name[16];
  memset(data, partner == LONG_SEND, LONG);
  MUST(MPI_Recv(&pid, 1, MPI_INT, partner, START, world, MPI_STATUS_IGNORE));
  MUST(MPI_Send(data, order_to(partner), MPI_BYTE, partner, START, world));
  if (partner == RECEIVE) MUST(MPI_Irecv(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == SYNCHRONOUS_SEND) MUST(MPI_Issend(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_SEND) MUST(MPI_Isend(data, LONG, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_RECEIVE || partner == HALF_RECEIVE) {
    MUST(MPI_Irecv(data, LONG, MPI_BYTE, partner, TAG, world, &request));
    kill_sender(partner, pid, data, &request);
  }
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("of %d rank 0 was told: %s\n", partner, text);
  const int is_whole = partner == LONG_SEND || (partner == LONG_RECEIVE && memchr(data, 0, LONG) == NULL);
  EXPECT(class == MPI_ERR_PROC_ABORTED || (class == MPI_SUCCESS && may_be_whole && is_whole), "of %d: class %d", partner, class);
  snprintf(name, sizeof name, "process %d ", partner);
  EXPECT(class == MPI_SUCCESS || strstr(text, name) != NULL, "of %d: %s", partner, text);
}

int main(int argc, char **argv) {
  const int may_be_whole = argc == 3 && strcmp(argv[2], "whole") == 0;
  if (argc != 2 && !may_be_whole) return 2;
  launcher = argv[1];
  char *data = calloc(LONG, 1);
  open_world("test.partner_dies");
  EXPECT(size == PROCESSES && data != NULL, "%d processes", size);
  if (rank != 0) {
    be_partner(data);
    die_under(launcher);
  }
  for (int partner = RECEIVE; partner < PROCESSES; ++partner) wait_for(partner, data, may_be_whole);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  free(data);
  return verdict();
}
