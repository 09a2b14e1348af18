/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests cross-progress: a process waits in one library while another process waits for it in the
 * other, which must not deadlock if it would not with one MPI library. Two processes: a long
 * message is in flight on one communicator while its sender waits on the other communicator for a
 * process that first receives the message. Without cross-progress each part of this test hangs. */
#include "session_world.h"

enum { LARGE = 8 << 20 };
static char *out, *in;

typedef struct {
  const char* name;
  void (*waits)(
      MPI_Comm comm); /* call of the sender of the long message on the other communicator */
  void (*answers)(MPI_Comm comm); /* call of its receiver there, after the long message */
} Wait;

static int value;
static void send_value(MPI_Comm comm) { MUST(MPI_Send(&value, 1, MPI_INT, 1 - rank, 5, comm)); }
static void receive_value(MPI_Comm comm) {
  MUST(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 5, comm, MPI_STATUS_IGNORE));
}
static void synchronous(MPI_Comm comm) { MUST(MPI_Ssend(&value, 1, MPI_INT, 1 - rank, 5, comm)); }
static void probe(MPI_Comm comm) {
  MUST(MPI_Probe(1 - rank, 5, comm, MPI_STATUS_IGNORE));
  receive_value(comm);
}
static void mprobe(MPI_Comm comm) {
  MPI_Message message;
  MUST(MPI_Mprobe(1 - rank, 5, comm, &message, MPI_STATUS_IGNORE));
  MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}
static void one_wait(MPI_Comm comm) {
  MPI_Request request;
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void any_wait(MPI_Comm comm) {
  MPI_Request request;
  int index;
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &request));
  MUST(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
}
static void some_wait(MPI_Comm comm) {
  MPI_Request request;
  int index, count;
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &request));
  MUST(MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE));
}
static void all_wait(MPI_Comm comm) {
  MPI_Request request;
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &request));
  MUST(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
}
/* MPI_Waitall with a complete session request in the array. */
static void rest_wait(MPI_Comm comm) {
  MPI_Request requests[2];
  MUST(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 5, world, &requests[0]));
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &requests[1]));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}
static void exchange(MPI_Comm comm) {
  int other;
  MUST(MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 5, &other, 1, MPI_INT, 1 - rank, 5, comm,
                    MPI_STATUS_IGNORE));
}
static void asks(MPI_Comm comm) {
  int flag = 0;
  while (!flag) MUST(MPI_Iprobe(1 - rank, 5, comm, &flag, MPI_STATUS_IGNORE));
  receive_value(comm);
}
static void tests(MPI_Comm comm) {
  MPI_Request request;
  int flag = 0;
  MUST(MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 5, comm, &request));
  while (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
}
static void barrier(MPI_Comm comm) { MUST(MPI_Barrier(comm)); }
static void bcast(MPI_Comm comm) { MUST(MPI_Bcast(&value, 1, MPI_INT, 1 - rank, comm)); }
static void bcast_root(MPI_Comm comm) { MUST(MPI_Bcast(&value, 1, MPI_INT, rank, comm)); }
static void allreduce(MPI_Comm comm) {
  int sum;
  MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
}
static void alltoall(MPI_Comm comm) {
  int from[2] = {0, 0}, to[2];
  MUST(MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm));
}
static void dup(MPI_Comm comm) {
  MPI_Comm copy;
  MUST(MPI_Comm_dup(comm, &copy));
  MUST(MPI_Comm_free(&copy));
}
static void split(MPI_Comm comm) {
  MPI_Comm part;
  MUST(MPI_Comm_split(comm, 0, 0, &part));
  MUST(MPI_Comm_free(&part));
}

static const Wait waits[] = {
    {"receive", receive_value, send_value},
    {"synchronous send", synchronous, receive_value},
    {"probe", probe, send_value},
    {"matched probe", mprobe, send_value},
    {"wait", one_wait, send_value},
    {"waitany", any_wait, send_value},
    {"waitsome", some_wait, send_value},
    {"waitall", all_wait, send_value},
    {"iprobe", asks, send_value},
    {"test", tests, send_value},
    {"sendrecv", exchange, exchange},
    {"waitall of the rest", rest_wait, send_value},
    {"barrier", barrier, barrier},
    {"bcast", bcast, bcast_root},
    {"allreduce", allreduce, allreduce},
    {"alltoall", alltoall, alltoall},
    {"dup", dup, dup},
    {"split", split, split},
};

/* Send the long message on `message`, and wait on `wait`. */
static void one(const Wait* how, MPI_Comm message, MPI_Comm wait, int sender) {
  MPI_Request request;
  if (rank == sender) {
    MUST(MPI_Isend(out, LARGE, MPI_CHAR, 1 - rank, 4, message, &request));
    how->waits(wait);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    memset(in, 0, LARGE);
    MUST(MPI_Recv(in, LARGE, MPI_CHAR, 1 - rank, 4, message, MPI_STATUS_IGNORE));
    EXPECT(memcmp(in, out, LARGE) == 0, "%s: the message is not what was sent", how->name);
    how->answers(wait);
  }
}

/* MPI_Finalize waits for all processes, and one of them waits for the message. */
static void at_the_end(MPI_Comm message) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0)
    MUST(MPI_Isend(out, LARGE, MPI_CHAR, 1, 4, message, &request));
  else
    MUST(MPI_Recv(in, LARGE, MPI_CHAR, 0, 4, message, MPI_STATUS_IGNORE));
  MUST(MPI_Finalize());
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(void) {
  out = malloc(LARGE);
  in = malloc(LARGE);
  for (int i = 0; i < LARGE; ++i) out[i] = (char)(i * 31 + i / 777);
  MUST(MPI_Init(NULL, NULL));
  open_world("test.cross_progress");
  MPI_Comm below, top;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &below));
  MUST(MPI_Comm_dup(world, &top));
  for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; ++i)
    for (int sender = 0; sender < 2; ++sender) {
      one(&waits[i], top, below, sender);
      one(&waits[i], below, top, sender);
    }
  MUST(MPI_Comm_free(&below));
  at_the_end(top);
  MUST(MPI_Comm_free(&top));
  free(out);
  free(in);
  return close_world();
}
