/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests collectives at processes where arguments are not significant (MPI-4.1 chapters 6 and 8):
 * these arguments are null handles, null pointers and negative counts, and the results are right at
 * all processes. At least two processes: the intercommunicator is between rank 0 and all others, of
 * which the first is the root. */
#include "forms.h"

enum { MAX_RANKS = 8 };

#define NO_TYPE MPI_DATATYPE_NULL
#define NO_OP MPI_OP_NULL

static int ones[MAX_RANKS], displacements[MAX_RANKS];
static MPI_Count large_ones[MAX_RANKS];
static MPI_Aint large_displacements[MAX_RANKS];

static void expect(const char* what, enum form form, int got, int expected) {
  EXPECT(got == expected, "%s, %s: %d, not %d", what, form_names[form], got, expected);
}

/* Rank 1 passes MPI_ROOT, rank 0 is in the other group, and the others pass MPI_PROC_NULL. */
static void at_proc_null(MPI_Comm inter, enum form form) {
  const int own = 5 + rank;
  int got[MAX_RANKS] = {-1};
  if (rank == 0) {
    RUN(form, Reduce, Ireduce, Reduce_init, &own, NULL, 1, MPI_INT, MPI_SUM, 0, inter);
    RUN(form, Bcast, Ibcast, Bcast_init, got, 1, MPI_INT, 0, inter);
    expect("Bcast", form, got[0], 6);
    RUN(form, Gather, Igather, Gather_init, &own, 1, MPI_INT, NULL, -1, NO_TYPE, 0, inter);
    RUN_V(form, Gatherv, Igatherv, Gatherv_init,
          (&own, 1, MPI_INT, NULL, NULL, NULL, NO_TYPE, 0, inter),
          (&own, 1, MPI_INT, NULL, NULL, NULL, NO_TYPE, 0, inter));
    RUN(form, Scatter, Iscatter, Scatter_init, NULL, -1, NO_TYPE, got, 1, MPI_INT, 0, inter);
    RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
          (NULL, NULL, NULL, NO_TYPE, got, 1, MPI_INT, 0, inter),
          (NULL, NULL, NULL, NO_TYPE, got, 1, MPI_INT, 0, inter));
    expect("Scatterv", form, got[0], 6);
  } else if (rank == 1) {
    int data = own;
    RUN(form, Reduce, Ireduce, Reduce_init, NULL, got, 1, MPI_INT, MPI_SUM, MPI_ROOT, inter);
    expect("Reduce", form, got[0], 5);
    RUN(form, Bcast, Ibcast, Bcast_init, &data, 1, MPI_INT, MPI_ROOT, inter);
    RUN(form, Gather, Igather, Gather_init, NULL, -1, NO_TYPE, got, 1, MPI_INT, MPI_ROOT, inter);
    RUN_V(form, Gatherv, Igatherv, Gatherv_init,
          (NULL, -1, NO_TYPE, got, ones, displacements, MPI_INT, MPI_ROOT, inter),
          (NULL, -1, NO_TYPE, got, large_ones, large_displacements, MPI_INT, MPI_ROOT, inter));
    RUN(form, Scatter, Iscatter, Scatter_init, &own, 1, MPI_INT, NULL, -1, NO_TYPE, MPI_ROOT,
        inter);
    RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
          (&own, ones, displacements, MPI_INT, NULL, -1, NO_TYPE, MPI_ROOT, inter),
          (&own, large_ones, large_displacements, MPI_INT, NULL, -1, NO_TYPE, MPI_ROOT, inter));
  } else {
    RUN(form, Reduce, Ireduce, Reduce_init, NULL, NULL, -1, NO_TYPE, NO_OP, MPI_PROC_NULL, inter);
    RUN(form, Bcast, Ibcast, Bcast_init, NULL, -1, NO_TYPE, MPI_PROC_NULL, inter);
    RUN(form, Gather, Igather, Gather_init, NULL, -1, NO_TYPE, NULL, -1, NO_TYPE, MPI_PROC_NULL,
        inter);
    RUN_V(form, Gatherv, Igatherv, Gatherv_init,
          (NULL, -1, NO_TYPE, NULL, NULL, NULL, NO_TYPE, MPI_PROC_NULL, inter),
          (NULL, -1, NO_TYPE, NULL, NULL, NULL, NO_TYPE, MPI_PROC_NULL, inter));
    RUN(form, Scatter, Iscatter, Scatter_init, NULL, -1, NO_TYPE, NULL, -1, NO_TYPE, MPI_PROC_NULL,
        inter);
    RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
          (NULL, NULL, NULL, NO_TYPE, NULL, -1, NO_TYPE, MPI_PROC_NULL, inter),
          (NULL, NULL, NULL, NO_TYPE, NULL, -1, NO_TYPE, MPI_PROC_NULL, inter));
  }
}

/* On an intracommunicator, at processes other than the root; and with MPI_IN_PLACE at the root. */
static void beside_the_root(enum form form) {
  const int own = 5 + rank, root = 0;
  int got[MAX_RANKS] = {5};
  if (rank == root) {
    RUN(form, Reduce, Ireduce, Reduce_init, MPI_IN_PLACE, got, 1, MPI_INT, MPI_MAX, root, world);
    expect("Reduce", form, got[0], 4 + size);
    RUN(form, Gather, Igather, Gather_init, MPI_IN_PLACE, -1, NO_TYPE, got, 1, MPI_INT, root,
        world);
    RUN_V(form, Gatherv, Igatherv, Gatherv_init,
          (MPI_IN_PLACE, -1, NO_TYPE, got, ones, displacements, MPI_INT, root, world),
          (MPI_IN_PLACE, -1, NO_TYPE, got, large_ones, large_displacements, MPI_INT, root, world));
    expect("Gatherv", form, got[size - 1], size > 1 ? 4 + size : got[0]);
    RUN(form, Scatter, Iscatter, Scatter_init, got, 1, MPI_INT, MPI_IN_PLACE, -1, NO_TYPE, root,
        world);
    RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
          (got, ones, displacements, MPI_INT, MPI_IN_PLACE, -1, NO_TYPE, root, world),
          (got, large_ones, large_displacements, MPI_INT, MPI_IN_PLACE, -1, NO_TYPE, root, world));
    return;
  }
  RUN(form, Reduce, Ireduce, Reduce_init, &own, MPI_IN_PLACE, 1, MPI_INT, MPI_MAX, root, world);
  RUN(form, Gather, Igather, Gather_init, &own, 1, MPI_INT, MPI_IN_PLACE, -1, NO_TYPE, root, world);
  RUN_V(form, Gatherv, Igatherv, Gatherv_init,
        (&own, 1, MPI_INT, NULL, NULL, NULL, NO_TYPE, root, world),
        (&own, 1, MPI_INT, NULL, NULL, NULL, NO_TYPE, root, world));
  RUN(form, Scatter, Iscatter, Scatter_init, MPI_IN_PLACE, -1, NO_TYPE, got, 1, MPI_INT, root,
      world);
  RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
        (NULL, NULL, NULL, NO_TYPE, got, 1, MPI_INT, root, world),
        (NULL, NULL, NULL, NO_TYPE, got, 1, MPI_INT, root, world));
  expect("Scatterv", form, got[0], own);
}

/* With MPI_IN_PLACE, other arguments of the send buffer are not significant. */
static void in_place(enum form form) {
  int data[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  for (int i = 0; i < size; ++i) {
    data[i] = i == rank ? rank : -1;
    types[i] = MPI_INT;
  }
  RUN(form, Allgather, Iallgather, Allgather_init, MPI_IN_PLACE, -1, NO_TYPE, data, 1, MPI_INT,
      world);
  RUN_V(form, Allgatherv, Iallgatherv, Allgatherv_init,
        (MPI_IN_PLACE, -1, NO_TYPE, data, ones, displacements, MPI_INT, world),
        (MPI_IN_PLACE, -1, NO_TYPE, data, large_ones, large_displacements, MPI_INT, world));
  RUN(form, Alltoall, Ialltoall, Alltoall_init, MPI_IN_PLACE, -1, NO_TYPE, data, 1, MPI_INT, world);
  RUN_V(form, Alltoallv, Ialltoallv, Alltoallv_init,
        (MPI_IN_PLACE, NULL, NULL, NO_TYPE, data, ones, displacements, MPI_INT, world),
        (MPI_IN_PLACE, NULL, NULL, NO_TYPE, data, large_ones, large_displacements, MPI_INT, world));
  for (int i = 0; i < size; ++i) expect("Alltoallv", form, data[i], i);
  int offsets[MAX_RANKS];
  MPI_Aint large_offsets[MAX_RANKS];
  for (int i = 0; i < size; ++i) large_offsets[i] = offsets[i] = i * (int)sizeof(int);
  RUN_V(form, Alltoallw, Ialltoallw, Alltoallw_init,
        (MPI_IN_PLACE, NULL, NULL, NULL, data, ones, offsets, types, world),
        (MPI_IN_PLACE, NULL, NULL, NULL, data, large_ones, large_offsets, types, world));
  for (int i = 0; i < size; ++i) expect("Alltoallw", form, data[i], rank);
}

/* The first process of an exclusive scan has no receive buffer (MPI-4.1 §6.11.2). */
static void first_of_exscan(enum form form) {
  int own = rank + 1, got = -1;
  RUN(form, Exscan, Iexscan, Exscan_init, &own, rank == 0 ? NULL : &got, 1, MPI_INT, MPI_SUM,
      world);
  if (rank > 0) expect("Exscan", form, got, rank * (rank + 1) / 2);
}

/* A process without neighbours has no buffers. */
static void without_neighbours(enum form form) {
  MPI_Comm graph;
  const int from_first = rank == 1 ? 1 : 0, to_second = rank == 0 ? 1 : 0, first = 0, second = 1;
  const int weight = 1;
  int data = 5 + rank, got = -1;
  MUST(MPI_Dist_graph_create_adjacent(world, from_first, from_first ? &first : NULL, &weight,
                                      to_second, to_second ? &second : NULL, &weight, MPI_INFO_NULL,
                                      0, &graph));
  if (rank == 0) {
    RUN(form, Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, &data, 1, MPI_INT,
        NULL, -1, NO_TYPE, graph);
    RUN_V(form, Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
          (&data, ones, displacements, MPI_INT, NULL, NULL, NULL, NO_TYPE, graph),
          (&data, large_ones, large_displacements, MPI_INT, NULL, NULL, NULL, NO_TYPE, graph));
  } else if (rank == 1) {
    RUN(form, Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, NULL, -1, NO_TYPE,
        &got, 1, MPI_INT, graph);
    expect("Neighbor_allgather", form, got, 5);
    RUN_V(form, Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
          (NULL, NULL, NULL, NO_TYPE, &got, ones, displacements, MPI_INT, graph),
          (NULL, NULL, NULL, NO_TYPE, &got, large_ones, large_displacements, MPI_INT, graph));
  } else {
    RUN(form, Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, NULL, -1, NO_TYPE,
        NULL, -1, NO_TYPE, graph);
    RUN_V(form, Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
          (NULL, NULL, NULL, NO_TYPE, NULL, NULL, NULL, NO_TYPE, graph),
          (NULL, NULL, NULL, NO_TYPE, NULL, NULL, NULL, NO_TYPE, graph));
  }
  MUST(MPI_Comm_free(&graph));
}

/* Create an intercommunicator; some arguments are significant only at the leaders. */
static MPI_Comm make_inter(void) {
  MPI_Comm local, inter;
  const int is_leader = rank < 2;
  MUST(MPI_Comm_split(world, rank > 0, rank, &local));
  MUST(MPI_Intercomm_create(local, 0, is_leader ? world : MPI_COMM_NULL, is_leader ? 1 - rank : -7,
                            is_leader ? 3 : -7, &inter));
  MUST(MPI_Comm_free(&local));
  return inter;
}

int main(void) {
  open_world("not significant");
  for (int i = 0; i < size; ++i) {
    large_ones[i] = ones[i] = 1;
    large_displacements[i] = displacements[i] = i;
  }
  MPI_Comm inter = make_inter();
  for (enum form form = BLOCKING; form < FORMS; ++form) {
    at_proc_null(inter, form);
    beside_the_root(form);
    in_place(form);
    first_of_exscan(form);
    without_neighbours(form);
  }
  MUST(MPI_Comm_free(&inter));
  return close_world();
}
