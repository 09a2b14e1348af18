/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the attributes of MPI_COMM_WORLD that count what the launcher has started, and the keys of
 * MPI_INFO_ENV, for jobs that expect the same with and without INTERSESSION_WORLD=sessions. */
#include "session_world.h"

static void print_attribute(const char* name, int keyval) {
  int *value, flag;
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag));
  if (flag)
    printf("rank %d: %s %d\n", rank, name, *value);
  else
    printf("rank %d: %s none\n", rank, name);
}

static void print_environment(void) {
  int keys;
  MUST(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
  printf("rank %d: %d keys\n", rank, keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int flag;
    MUST(MPI_Info_get_nthkey(MPI_INFO_ENV, i, key));
    MUST(MPI_Info_get(MPI_INFO_ENV, key, MPI_MAX_INFO_VAL, value, &flag));
    printf("rank %d: key %d %s=%s.\n", rank, i, key, value);
  }
}

int main(int argc, char** argv) {
  int provided;
  MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  print_attribute("universe", MPI_UNIVERSE_SIZE);
  print_attribute("application", MPI_APPNUM);
  print_environment();
  MUST(MPI_Finalize());
  return verdict();
}
