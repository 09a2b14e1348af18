/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a creation while shared memory is full: all members get an error, and none waits for ever.
 * When there is space again, the next creation succeeds. The processes synchronise by files. */
#include <sched.h>

#include "launchers_number.h"
#include "shared_memory.h"

static const char* mark_of(const char* what, int who) {
  static char path[300];
  snprintf(path, sizeof path, "%s/%s.%d", getenv("TMPDIR"), what, who);
  return path;
}
static void mark(const char* what, int who) {
  close(open(mark_of(what, who), O_CREAT | O_WRONLY, 0600));
}
static void wait_for(const char* what, int who) {
  struct stat ignored;
  while (stat(mark_of(what, who), &ignored) != 0) sched_yield();
}

/* Return when all processes have called this function and rank 0 has called `then`. */
static void meet(const char* what, void (*then)(void)) {
  mark(what, rank);
  for (int i = 0; rank == 0 && i < size; ++i) wait_for(what, i);
  if (rank == 0) then();
  if (rank == 0) mark(what, size);
  wait_for(what, size);
}

static int make(const char* tag, char* text) {
  int length;
  MPI_Group group;
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  const int code = MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &world);
  MUST(MPI_Error_string(code, text, &length));
  MUST(MPI_Group_free(&group));
  return code;
}

int main(void) {
  char text[MPI_MAX_ERROR_STRING];
  rank = launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK");
  size = launchers_number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  meet("full", fill);
  EXPECT(make("test.full", text) != MPI_SUCCESS, "the creation succeeded");
  EXPECT(world == MPI_COMM_NULL, "a communicator although the creation failed");
  printf("rank %d: error text: %s\n", rank, text);
  meet("roomy", make_room);
  EXPECT(make("test.roomy", text) == MPI_SUCCESS, "%s", text);
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
