/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes die, one after the other, while rank 0 waits for each of them in another way: every wait ends with an error that says so.
 *
 *   partner_dies LAUNCHER     (death.h)
 */
#include "death.h"
#include "session_world.h"

enum { RECEIVE = 1, SYNCHRONOUS_SEND, LONG_RECEIVE, LONG_SEND, PROCESSES };
enum { LONG = 64 << 20, TAG = 5, FEW = 5 };

/* Begins its part of a long message, and moves it a little. */
static void be_partner(char *data) {
  MPI_Request request = MPI_REQUEST_NULL;
  int go, done = 0;
  MUST(MPI_Recv(&go, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE));
  if (rank == LONG_RECEIVE) MUST(MPI_Isend(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  if (rank == LONG_SEND) MUST(MPI_Irecv(data, LONG, MPI_BYTE, 0, TAG, world, &request));
  for (int i = 0; request != MPI_REQUEST_NULL && i < FEW; ++i) MUST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

/* Inside a node a long message may have been copied as a whole before its partner died. */
static void wait_for(int partner, char *data) {
  MPI_Request request;
  MUST(MPI_Send(&partner, 1, MPI_INT, partner, 0, world));
  if (partner == RECEIVE) MUST(MPI_Irecv(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == SYNCHRONOUS_SEND) MUST(MPI_Issend(data, 1, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_RECEIVE) MUST(MPI_Irecv(data, LONG, MPI_BYTE, partner, TAG, world, &request));
  if (partner == LONG_SEND) MUST(MPI_Isend(data, LONG, MPI_BYTE, partner, TAG, world, &request));
  int code = MPI_Wait(&request, MPI_STATUS_IGNORE), class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  printf("of %d rank 0 was told: %s\n", partner, text);
  EXPECT(class == MPI_ERR_PROC_ABORTED || (partner >= LONG_RECEIVE && class == MPI_SUCCESS), "class %d", class);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char *data = calloc(LONG, 1);
  open_world("test.partner_dies");
  EXPECT(size == PROCESSES && data != NULL, "%d processes", size);
  if (rank != 0) {
    be_partner(data);
    die_under(argv[1]);
  }
  for (int partner = RECEIVE; partner < PROCESSES; ++partner) wait_for(partner, data);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  free(data);
  return verdict();
}
