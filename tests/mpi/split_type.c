/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests MPI_Comm_split_type by hardware and by process sets. With the argument "bound" each process
 * binds itself to a processor before it has a second thread, so the expected parts are known. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "session_world.h"

static int processors, own_processor;
static int of_all[64];      /* processor of each rank */
static int node_of_all[64]; /* node of each rank, named by its lowest rank */

static void bind(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  EXPECT(sched_setaffinity(0, sizeof set, &set) == 0, "cannot be bound");
}

static void choose_processor(int is_bound) {
  cpu_set_t set;
  int all[CPU_SETSIZE];
  EXPECT(sched_getaffinity(0, sizeof set, &set) == 0, "affinity");
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) all[processors++] = i;
  own_processor = all[getpid() % processors];
  if (is_bound) bind(own_processor);
}

static void check_split_types(void) {
  MPI_Comm node;
  int lowest;
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MUST(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node));
  MUST(MPI_Comm_free(&node));
  MUST(MPI_Allgather(&own_processor, 1, MPI_INT, of_all, 1, MPI_INT, world));
  MUST(MPI_Allgather(&lowest, 1, MPI_INT, node_of_all, 1, MPI_INT, world));
}

static MPI_Comm split(int type, const char* key, const char* value, char* divided_by) {
  MPI_Comm part;
  MPI_Info info;
  int flag;
  MUST(MPI_Info_create(&info));
  if (value != NULL) MUST(MPI_Info_set(info, key, value));
  MUST(MPI_Comm_split_type(world, type, rank, info, &part));
  if (divided_by != NULL) {
    divided_by[0] = '\0';
    MUST(MPI_Info_get(info, "mpi_hw_resource_type", 127, divided_by, &flag));
  }
  MUST(MPI_Info_free(&info));
  return part;
}

/* Free the part and return its size; -1 for MPI_COMM_NULL. */
static int size_of(MPI_Comm part) {
  int n = -1, r, sum;
  if (part == MPI_COMM_NULL) return n;
  MUST(MPI_Comm_size(part, &n));
  MUST(MPI_Comm_rank(part, &r));
  MUST(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, part));
  EXPECT(sum == n * (n - 1) / 2, "sum %d", sum);
  MUST(MPI_Comm_free(&part));
  return n;
}

int main(int argc, char** argv) {
  int same_node = 0, same_processor = 0;
  char divided_by[128];
  const int is_bound = argc > 1 && strcmp(argv[1], "bound") == 0;
  choose_processor(is_bound);
  open_world("test.split_type");
  check_split_types();
  for (int r = 0; r < size; ++r) {
    same_node += node_of_all[r] == node_of_all[rank];
    same_processor += node_of_all[r] == node_of_all[rank] && of_all[r] == of_all[rank];
  }
  for (int i = 0; i < 2; ++i) {
    const int type = i ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_RESOURCE_GUIDED;
    EXPECT(size_of(split(type, "mpi_hw_resource_type", "mpi_shared_memory", NULL)) == same_node,
           "mpi_shared_memory");
    if (is_bound || processors > 1)
      EXPECT(size_of(split(type, "mpi_hw_resource_type", "hwloc://PU", NULL)) ==
                 (is_bound ? same_processor : -1),
             "hwloc://PU");
    EXPECT(size_of(split(type, "mpi_hw_resource_type", "hwloc://Machine", NULL)) == same_node,
           "hwloc://Machine");
    EXPECT(size_of(split(type, "mpi_hw_resource_type", "no such kind", NULL)) == -1,
           "an unknown kind");
    EXPECT(size_of(split(type, "", NULL, NULL)) == -1, "no kind");
  }
  /* unguided: strictly smaller parts, down to single processors, then MPI_COMM_NULL */
  MPI_Comm part = split(MPI_COMM_TYPE_HW_UNGUIDED, "", NULL, divided_by);
  if (same_node < size) {
    EXPECT(strcmp(divided_by, "mpi_shared_memory") == 0, "divided by %s", divided_by);
    EXPECT(size_of(part) == same_node, "nodes");
  } else if (is_bound && same_processor < size) {
    EXPECT(strncmp(divided_by, "hwloc://", 8) == 0, "divided by %s", divided_by);
    const int n = size_of(part);
    EXPECT(n < size && n >= same_processor, "%d processes", n);
  } else {
    EXPECT(part == MPI_COMM_NULL && divided_by[0] == '\0', "divided by %s", divided_by);
  }
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part));
  size_of(part);
  /* process sets; not all processes pass the same one */
  EXPECT(
      size_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD", NULL)) == size,
      "mpi://WORLD");
  EXPECT(size_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpix://SHARED", NULL)) ==
             same_node,
         "mpix://SHARED");
  EXPECT(size_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF", NULL)) == 1,
         "mpi://SELF");
  EXPECT(size_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name",
                       rank ? "mpi://WORLD" : "MPI://world", NULL)) == size,
         "two spellings");
  EXPECT(size_of(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name",
                       rank ? "mpi://WORLD" : "no such set", NULL)) == (rank ? size - 1 : -1),
         "an unknown set");
  EXPECT(size_of(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD", NULL)) == -1,
         "a set although none was given");
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Info both;
  MUST(MPI_Info_create(&both));
  MUST(MPI_Info_set(both, "mpi_pset_name", "mpi://WORLD"));
  MUST(MPI_Info_set(both, "mpi_hw_resource_type", "hwloc://PU"));
  MUST_FAIL(MPI_ERR_INFO,
            MPI_Comm_split_type(world, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, both, &none));
  MUST(MPI_Info_free(&both));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_split_type(world, 987654, 0, MPI_INFO_NULL, &none));
  MUST(MPI_Comm_split_type(world, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  EXPECT(none == MPI_COMM_NULL, "MPI_UNDEFINED");
  return close_world();
}
