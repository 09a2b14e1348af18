/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests receives from a dead process, also on another node, by processes that have never sent to it
 * and so have no connection to it. Each receive ends with an error that names the process.
 *
 *   receive_from_dead LAUNCHER     (death.h) */
#include "death.h"
#include "session_world.h"

int main(int argc, char** argv) {
  enum { VICTIM = 0, TAG = 7 };
  int value = 0, code, class, length;
  char text[MPI_MAX_ERROR_STRING];
  if (argc != 2) return 2;
  open_world("test.receive_from_dead");
  if (rank == VICTIM) die_under(argv[1]);
  const double begin = MPI_Wtime();
  code = MPI_Recv(&value, 1, MPI_INT, VICTIM, TAG, world, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d: error text after %.3f s: %s\n", rank, MPI_Wtime() - begin, text);
  EXPECT(class == MPI_ERR_PROC_ABORTED && strstr(text, "process 0 ") != NULL, "%s", text);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
