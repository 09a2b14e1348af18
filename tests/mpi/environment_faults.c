/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a broken environment, which the job sets up: the creation of a session, of its world
 * communicator, or communication on it fails with an error text, without a crash or a hang, and the
 * process continues. */
#include "session_world.h"

static void print_error(const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MUST(MPI_Error_string(code, text, &length));
  printf("%s failed: %s\n", call, text);
}

/* Return the name of the first call that fails, or null if none does. */
static int attempt(void) {
  MPI_Group group;
  int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  if (code != MPI_SUCCESS) {
    print_error("MPI_Session_init", code);
    EXPECT(session == MPI_SESSION_NULL, "a session handle although the call failed");
    return code;
  }
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  code = MPI_Comm_create_from_group(group, "test.environment_faults", MPI_INFO_NULL,
                                    MPI_ERRORS_RETURN, &world);
  if (code != MPI_SUCCESS) {
    print_error("MPI_Comm_create_from_group", code);
    EXPECT(world == MPI_COMM_NULL, "a communicator although the call failed");
  } else {
    code = MPI_Barrier(world);
    if (code != MPI_SUCCESS) print_error("MPI_Barrier", code);
    MUST(MPI_Comm_free(&world));
  }
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&session));
  return code;
}

int main(void) {
  session = MPI_SESSION_NULL;
  EXPECT(attempt() != MPI_SUCCESS, "the first call succeeded");
  EXPECT(attempt() != MPI_SUCCESS, "the second call succeeded");
  return verdict();
}
