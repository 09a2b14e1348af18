/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests processes that die, one after the other, while rank 0 waits for each in another way: each
 * wait ends with an error that names the process.
 *
 * The long messages are larger than the buffers between two processes, and are partly transferred
 * when the process dies. The last process gets a long start message: messages to living processes
 * do not wait for dead ones.
 *
 *   partner_dies LAUNCHER [whole]     (death.h)
 *
 * whole: processes read and write each other's memory. A process with the order to die may get no
 * core until rank 0 has read its message completely, or has written its own one completely; such a
 * message is complete, and the wait for it need not end with an error. */
#include <poll.h>
#include <sys/syscall.h>

#include "death.h"
#include "session_world.h"

enum { RECEIVE = 1, SYNCHRONOUS_SEND, LONG_RECEIVE, LONG_SEND, HALF_RECEIVE, PROCESSES };
enum { LONG = 64 << 20, ORDER = 4 << 20, START = 1, TAG = 5 };

static const char* launcher;
static const int death = SIGUSR2; /* not SIGUSR1, by which hydra reports a death */

/* Return the tag of the start message. A process that dies by itself may do so before the sender of
 * a long start message has completed its send. */
static int order_to(int partner) { return partner == HALF_RECEIVE ? ORDER : 0; }

static void die_at_once(int number) {
  (void)number;
  die_under(launcher);
}

/* True if a part has arrived; cooperative copies begin at both ends of a message. */
static int has_begun(const char* data) { return data[0] != 0 || data[LONG - 1] != 0; }

/* Start a long message and make progress until this process is killed or sees that bytes have
 * arrived. */
static void be_partner(char* data) {
  const int pid = getpid();
  MPI_Request request = MPI_REQUEST_NULL;
  int done;
  signal(death, die_at_once);
  MUST(MPI_Send(&pid, 1, MPI_INT, 0, START, world));
  MUST(MPI_Recv(data, order_to(rank), MPI_BYTE, 0, START, world, MPI_STATUS_IGNORE));
  memset(data, rank != LONG_SEND, LONG);
  if (rank == LONG_RECEIVE || rank == HALF_RECEIVE)
    MUST(MPI_Isend(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  if (rank == LONG_SEND) MUST(MPI_Irecv(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  while (request != MPI_REQUEST_NULL && (rank != LONG_SEND || !has_begun(data)))
    MUST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  while (rank == LONG_RECEIVE || rank == HALF_RECEIVE) pause();
}

/* Kill the sender after a part of its message has arrived. The pid is valid until the launcher has
 * waited for the process. */
static void kill_sender(int partner, int pid, const char* data, MPI_Request* request) {
  struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
  int done;
  EXPECT(end.fd >= 0, "process %d", pid);
  while (!has_begun(data)) MUST(MPI_Test(request, &done, MPI_STATUS_IGNORE));
  EXPECT(kill(pid, death) == 0, "process %d", pid);
  while (partner == HALF_RECEIVE && poll(&end, 1, -1) != 1) { /* interrupted by hydra's signal */
  }
  close(end.fd);
}

static void wait_for(int partner, char* data, int may_be_whole) {
  MPI_Request request;
  int pid, code, class = MPI_SUCCESS, length;
  char text[MPI_MAX_ERROR_STRING] = "", name[16];
  memset(data, partner == LONG_SEND, LONG);
  MUST(MPI_Recv(&pid, 1, MPI_INT, partner, START, world, MPI_STATUS_IGNORE));
  MUST(MPI_Send(data, order_to(partner), MPI_BYTE, partner, START, world));
  if (partner == RECEIVE) MUST(MPI_Irecv(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == SYNCHRONOUS_SEND)
    MUST(MPI_Issend(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_SEND) MUST(MPI_Isend(data, LONG, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_RECEIVE || partner == HALF_RECEIVE) {
    MUST(MPI_Irecv(data, LONG, MPI_BYTE, partner, TAG, world, &request));
    kill_sender(partner, pid, data, &request);
  }
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank 0: error text about process %d: %s\n", partner, text);
  const int is_whole = partner == LONG_SEND ||
                       (partner == LONG_RECEIVE && memchr(data, 0, LONG) == NULL);
  EXPECT(class == MPI_ERR_PROC_ABORTED || (class == MPI_SUCCESS && may_be_whole && is_whole),
         "of %d: class %d", partner, class);
  snprintf(name, sizeof name, "process %d ", partner);
  EXPECT(class == MPI_SUCCESS || strstr(text, name) != NULL, "of %d: %s", partner, text);
}

int main(int argc, char** argv) {
  const int may_be_whole = argc == 3 && strcmp(argv[2], "whole") == 0;
  if (argc != 2 && !may_be_whole) return 2;
  launcher = argv[1];
  char* data = calloc(LONG, 1);
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
