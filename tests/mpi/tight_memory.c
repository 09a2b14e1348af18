/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests shared memory with space for a session and its communicator but not for a ring between each
 * pair. A process that cannot get a ring gets an error and leaves; a process that waits for it gets
 * an error, too. No process is killed or waits for ever. */
#include "session_world.h"

/* Exchange messages between all processes; return the error class and its text. */
static int talk(char* text) {
  int length, *from_all = malloc(sizeof(int) * (size_t)size),
              *to_all = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) to_all[i] = rank * size + i;
  const int code = MPI_Alltoall(to_all, 1, MPI_INT, from_all, 1, MPI_INT, world);
  for (int i = 0; code == MPI_SUCCESS && i < size; ++i)
    EXPECT(from_all[i] == i * size + rank, "%d from %d", from_all[i], i);
  MUST(MPI_Error_string(code, text, &length));
  free(from_all);
  free(to_all);
  return code;
}

int main(void) {
  char text[MPI_MAX_ERROR_STRING];
  int class = MPI_SUCCESS;
  open_world("test.tight_memory");
  const int code = talk(text);
  if (code != MPI_SUCCESS) MUST(MPI_Error_class(code, &class));
  EXPECT(class == MPI_SUCCESS || class == MPI_ERR_NO_SPACE || class == MPI_ERR_PROC_ABORTED, "%s",
         text);
  printf("rank %d: error text: %s\n", rank, text);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
