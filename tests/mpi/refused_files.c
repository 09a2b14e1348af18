/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that errors of files that are not open go to the handler of MPI_FILE_NULL, which returns
 * (MPI-4.1 §14.7), whatever handler the communicator has. */
#include "session_world.h"

static void refuse(void) {
  MPI_File file = MPI_FILE_NULL;
  int code = MPI_File_open(world, "/no/such/folder/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  EXPECT(code != MPI_SUCCESS, "a file in no folder is open");
  code = MPI_File_delete("/no/such/folder/x", MPI_INFO_NULL);
  EXPECT(code != MPI_SUCCESS, "a file in no folder is deleted");
}

int main(void) {
  open_world("test.refused_files");
  MUST(MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL));
  refuse();
  MUST(MPI_Init(NULL, NULL));
  refuse();
  MUST(MPI_Finalize());
  refuse();
  return close_world();
}
