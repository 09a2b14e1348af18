/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Session_finalize while a communicator of the session lives: the user is told its name, and can mend it. */
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
    printf("finalize says: %s\n", text);
    EXPECT(session == copy, "a failed finalize took the handle");
    return close_world();
  }
  EXPECT(session == MPI_SESSION_NULL, "finalize left the handle");
  MUST(MPI_Barrier(world)); /* it lives on until it is freed */
  MUST(MPI_Comm_free(&world));
  return verdict();
}
