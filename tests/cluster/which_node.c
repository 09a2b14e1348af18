// SPDX-License-Identifier: BSD-3-Clause
// Checks, as a program of the native MPI, that the simulated nodes are separate: argv[1] host
// names, each with its own /dev/shm, and messages between all of them.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES MPI_MAX_PROCESSOR_NAME

static int count_hosts(const char* names, int size) {
  int hosts = 0;
  for (int i = 0; i < size; ++i) {
    int is_first = 1;
    for (int j = 0; j < i; ++j)
      if (strcmp(names + i * NAME_BYTES, names + j * NAME_BYTES) == 0) is_first = 0;
    hosts += is_first;
  }
  return hosts;
}

// Create a file in /dev/shm and return the number of processes that created it: one per node,
// unless nodes share the memory.
static int count_shared_memories(void) {
  int made = open("/dev/shm/which_node", O_CREAT | O_EXCL | O_RDWR, 0600) >= 0, total = 0;
  MPI_Allreduce(&made, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (made) unlink("/dev/shm/which_node");
  return total;
}

int main(int argc, char** argv) {
  int rank, size, length, expected = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[NAME_BYTES] = "";
  MPI_Get_processor_name(name, &length);
  char* names = malloc((size_t)size * NAME_BYTES);
  MPI_Allgather(name, NAME_BYTES, MPI_CHAR, names, NAME_BYTES, MPI_CHAR, MPI_COMM_WORLD);
  int hosts = count_hosts(names, size), memories = count_shared_memories();
  free(names);
  printf("rank %d on %s sees %d hosts and %d shared memories\n", rank, name, hosts, memories);
  if (hosts == expected && memories == expected) printf("test passed\n");
  MPI_Finalize();
  return hosts == expected && memories == expected ? 0 : 1;
}
