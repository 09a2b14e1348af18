/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests MPI_Session_finalize while a communicator of the session exists: the error names the
 * communicator, and the call succeeds after it is freed. */
#include "session_world.h"

int main(void) {
  open_world("test.finalize_alive");
  MUST(MPI_Comm_set_name(world, "forgotten"));
  MPI_Session copy = session;
  int code = MPI_Session_finalize(&session);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MUST(MPI_Error_string(code, text, &length));
    printf("MPI_Session_finalize fails: %s\n", text);
    EXPECT(session == copy, "a failed MPI_Session_finalize set the handle to null");
    return close_world();
  }
  EXPECT(session == MPI_SESSION_NULL, "the handle is not null after MPI_Session_finalize");
  MUST(MPI_Barrier(world)); /* the communicator works until it is freed */
  MUST(MPI_Comm_free(&world));
  return verdict();
}
