/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the choice of the buffer of a buffered send (the communicator's, else the session's, else
 * the process's), and detaching of buffers with messages. */
#include "session_world.h"

enum { ITEM = 1000, ROOM = ITEM + MPI_BSEND_OVERHEAD, LONG = 3000000 };

static char memory[3][8 * ROOM], message[ITEM];

static void receive(MPI_Comm comm, int messages) {
  char into[ITEM];
  for (int i = 0; i < messages; ++i)
    MUST(MPI_Recv(into, ITEM, MPI_CHAR, rank, 1, comm, MPI_STATUS_IGNORE));
}

/* Each buffer has space for one message more than the buffer of the next wider scope. A short
 * message to oneself is delivered at once, so a long one checks the space. */
static void which(void) {
  void* address;
  int bytes;
  MPI_Comm other;
  MUST(MPI_Comm_dup(world, &other));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  MUST(MPI_Buffer_attach(memory[0], ROOM - 1));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  MUST(MPI_Session_attach_buffer(session, memory[1], ROOM));
  MUST(MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  receive(world, 1);
  MUST(MPI_Comm_attach_buffer(world, memory[2], ROOM - 2));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  MUST(MPI_Bsend(message, ITEM - 2, MPI_CHAR, rank, 1, world));
  MUST(MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, other));
  receive(world, 1);
  receive(other, 1);
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Comm_attach_buffer(world, memory[0], ROOM));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Session_attach_buffer(session, memory[0], ROOM));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_attach_buffer(other, memory[0], -1));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Comm_attach_buffer(other, NULL, 10));
  MUST(MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, other)); /* a failed send uses no space */
  receive(other, 1);
  MUST(MPI_Comm_flush_buffer(world));
  MUST(MPI_Session_flush_buffer(session));
  MUST(MPI_Buffer_flush());
  MUST(MPI_Comm_detach_buffer(world, &address, &bytes));
  EXPECT(address == memory[2] && bytes == ROOM - 2, "%d bytes", bytes);
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Comm_detach_buffer(world, &address, &bytes));
  MUST(MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  receive(world, 1);
  MPI_Count large = 0;
  MUST(MPI_Session_detach_buffer_c(session, &address, &large));
  EXPECT(address == memory[1] && large == ROOM, "%lld bytes", (long long)large);
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, world));
  MUST(MPI_Buffer_detach(&address, &bytes));
  EXPECT(address == memory[0] && bytes == ROOM - 1, "%d bytes", bytes);
  /* a buffer that is detached with its communicator */
  MUST(MPI_Comm_attach_buffer(other, memory[0], ROOM));
  MUST(MPI_Comm_free(&other));
  MUST(MPI_Comm_dup(world, &other));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bsend(message, ITEM, MPI_CHAR, rank, 1, other));
  MUST(MPI_Comm_free(&other));
}

static void automatic(void) {
  void* address = NULL;
  int bytes = -1, flag = 0, peer = rank ^ 1;
  MPI_Request request;
  char *big = malloc(LONG), *in = malloc(LONG);
  MUST(MPI_Comm_attach_buffer(world, MPI_BUFFER_AUTOMATIC, 17));
  if (peer >= size) peer = rank;
  for (int i = 0; i < 4; ++i) {
    memset(big, 'a' + i, LONG);
    MUST(MPI_Bsend(big, LONG, MPI_CHAR, peer, 2, world));
  }
  MUST(MPI_Comm_iflush_buffer(world, &request));
  MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  EXPECT(!flag || peer == rank, "messages of %d bytes without a receive have left", LONG);
  MUST(MPI_Barrier(world));
  for (int i = 0; i < 4; ++i) {
    MUST(MPI_Recv(in, LONG, MPI_CHAR, peer, 2, world, MPI_STATUS_IGNORE));
    EXPECT(in[0] == 'a' + i && in[LONG - 1] == 'a' + i, "message %d begins with %c", i, in[0]);
  }
  if (!flag) MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Comm_detach_buffer(world, &address, &bytes));
  EXPECT(address == MPI_BUFFER_AUTOMATIC && bytes == 0, "%p, %d bytes", address, bytes);
  MUST(MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0));
  MUST(MPI_Session_iflush_buffer(session, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Comm_iflush_buffer(world, &request)); /* without a buffer */
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Buffer_iflush(&request));
  MUST(MPI_Request_free(&request));
  MUST(MPI_Session_detach_buffer(session, &address, &bytes));
  free(big);
  free(in);
}

/* A persistent buffered send uses the buffer that is attached when it is started. */
static void persistent(void) {
  MPI_Request request;
  void* address;
  int bytes;
  MUST(MPI_Bsend_init(message, ITEM, MPI_CHAR, rank, 1, world, &request));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Start(&request));
  MUST(MPI_Comm_attach_buffer(world, memory[0], ROOM));
  MUST(MPI_Start(&request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  receive(world, 1);
  MUST(MPI_Request_free(&request));
  MUST(MPI_Comm_detach_buffer(world, &address, &bytes));
}

int main(void) {
  open_world("test.buffers");
  which();
  automatic();
  persistent();
  MUST(MPI_Barrier(world));
  MUST(MPI_Session_attach_buffer(session, memory[0], ROOM)); /* detached with the session */
  return close_world();
}
