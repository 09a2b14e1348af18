/* SPDX-License-Identifier: BSD-3-Clause */
/* A program without a communicator of all processes: each process is in the communicator of its
 * node, and the lowest rank of each node in one of the node leaders. A sum over all processes has
 * three steps: reduce in the node, allreduce among the node leaders, broadcast in the node. (MPICH
 * "true sessions" 2025 §4.3.) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Session session;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "sparse_world: %s: %s\n", what, text);
  exit(1);
}

static MPI_Group group_of(const char* pset) {
  MPI_Group group;
  check(MPI_Group_from_session_pset(session, pset, &group), pset);
  return group;
}

/* Return the group of the first processes of all sets mpix://NODE/... */
static MPI_Group node_leaders(int* nodes) {
  MPI_Group roots = MPI_GROUP_EMPTY;
  int sets;
  check(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets), "MPI_Session_get_num_psets");
  *nodes = 0;
  for (int n = 0; n < sets; ++n) {
    char name[1024];
    int length = sizeof name;
    check(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name),
          "MPI_Session_get_nth_pset");
    if (strncmp(name, "mpix://NODE/", 12) != 0) continue;
    MPI_Group node = group_of(name), root, more;
    const int first = 0;
    check(MPI_Group_incl(node, 1, &first, &root), "MPI_Group_incl");
    check(MPI_Group_union(roots, root, &more), "MPI_Group_union");
    if (roots != MPI_GROUP_EMPTY) MPI_Group_free(&roots);
    MPI_Group_free(&root);
    MPI_Group_free(&node);
    roots = more;
    ++*nodes;
  }
  return roots;
}

static void sum_over_all(MPI_Comm node, MPI_Comm roots, const long* mine, long* all, int count) {
  check(MPI_Reduce(mine, all, count, MPI_LONG, MPI_SUM, 0, node), "reduce in the node");
  if (roots != MPI_COMM_NULL)
    check(MPI_Allreduce(MPI_IN_PLACE, all, count, MPI_LONG, MPI_SUM, roots),
          "allreduce among the node leaders");
  check(MPI_Bcast(all, count, MPI_LONG, 0, node), "broadcast in the node");
}

int main(void) {
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  MPI_Group world = group_of("mpi://WORLD"), here = group_of("mpix://SHARED");
  int rank, size, nodes, is_root;
  MPI_Group_rank(world, &rank);
  MPI_Group_size(world, &size);

  MPI_Comm node, roots = MPI_COMM_NULL;
  check(MPI_Comm_create_from_group(here, "intersession.example.node", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &node),
        "node");
  MPI_Group root_group = node_leaders(&nodes);
  MPI_Group_rank(root_group, &is_root);
  if (is_root != MPI_UNDEFINED)
    check(MPI_Comm_create_from_group(root_group, "intersession.example.roots", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &roots),
          "roots");

  enum { COUNT = 1000 };
  long mine[COUNT], all[COUNT];
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < COUNT; ++i) mine[i] = (long)rank * (i + 1) + round;
    sum_over_all(node, roots, mine, all, COUNT);
    for (int i = 0; i < COUNT; ++i) {
      long expected = (long)size * (size - 1) / 2 * (i + 1) + (long)round * size;
      wrong += all[i] != expected;
    }
  }
  int node_size;
  MPI_Comm_size(node, &node_size);
  if (rank == 0 || wrong)
    printf("sparse_world: process %d of %d, %d on this node, %d nodes: %s\n", rank, size, node_size,
           nodes, wrong ? "WRONG SUMS" : "all sums right");

  if (roots != MPI_COMM_NULL) MPI_Comm_free(&roots);
  MPI_Comm_free(&node);
  MPI_Group_free(&root_group);
  MPI_Group_free(&here);
  MPI_Group_free(&world);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
  return wrong != 0;
}
