/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of threads.h on duplicates of MPI_COMM_WORLD and MPI_COMM_SELF. */
#include "bench/compare/threads.h"

static MPI_Comm copies[most_threads], inner_copies[most_threads];

static MPI_Comm copy_of(int thread) { return copies[thread]; }
static MPI_Comm inner_copy_of(int thread) { return inner_copies[thread]; }
static void keep(int thread, MPI_Comm comm) { (void)thread, (void)comm; }

int main(int argc, char** argv) {
  static const CommFactory between = {copy_of, keep}, within = {inner_copy_of, keep};
  int provided, processes;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "%s: MPI_Init_thread does not give MPI_THREAD_MULTIPLE\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  /* Here, because threads must not duplicate one communicator concurrently. */
  for (int i = 0; i < most_threads; ++i)
    MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]), MPI_Comm_dup(MPI_COMM_SELF, &inner_copies[i]);
  thread_rows(&between, &within, processes, argc, argv);
  for (int i = 0; i < most_threads; ++i) MPI_Comm_free(&copies[i]), MPI_Comm_free(&inner_copies[i]);
  MPI_Finalize();
  return 0;
}
