/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests topologies created from groups directly, without a communicator before them. */
#include "session_world.h"

static MPI_Group group;

static void check(MPI_Comm comm, int kind, int processes) {
  int got = -1, n = -1, r = -1, sum = 0;
  MUST(MPI_Topo_test(comm, &got));
  EXPECT(got == kind, "topology %d, not %d", got, kind);
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Comm_rank(comm, &r));
  EXPECT(n == processes, "%d processes, not %d", n, processes);
  MUST(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == n * (n - 1) / 2, "sum %d", sum);
}

/* A ring; each member specifies its own edges, or the edge of the next member. */
static void distributed(int reorder) {
  MPI_Comm comm;
  int before = (rank + size - 1) % size, after = (rank + 1) % size, one = 1,
      far = (rank + 2) % size, weight = after * 10;
  int r, n = -1, in, out, weighted, got_in = -1, got_out = -1;
  MUST(MPIX_Dist_graph_create_adjacent_from_group(group, "adjacent", MPI_INFO_NULL,
                                                  MPI_ERRORS_RETURN, 1, &before, MPI_UNWEIGHTED, 1,
                                                  &after, MPI_UNWEIGHTED, reorder, &comm));
  check(comm, MPI_DIST_GRAPH, size);
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Dist_graph_neighbors(comm, 1, &got_in, MPI_UNWEIGHTED, 1, &got_out, MPI_UNWEIGHTED));
  EXPECT(got_in == (r + size - 1) % size && got_out == (r + 1) % size, "neighbors %d %d of %d",
         got_in, got_out, r);
  MUST(MPI_Comm_free(&comm));

  MUST(MPIX_Dist_graph_create_from_group(group, "edges", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1,
                                         &after, &one, &far, &weight, reorder, &comm));
  check(comm, MPI_DIST_GRAPH, size);
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  EXPECT(in == 1 && out == 1 && weighted, "%d %d %d", in, out, weighted);
  MUST(MPI_Dist_graph_neighbors(comm, 1, &got_in, &n, 1, &got_out, &weight));
  EXPECT(got_in == (r + size - 1) % size && got_out == (r + 1) % size && n == got_in * 10 &&
             weight == r * 10,
         "neighbors %d %d of %d, weights %d %d", got_in, got_out, r, n, weight);
  MUST(MPI_Comm_free(&comm));
}

int main(void) {
  MPI_Comm comm, none = MPI_COMM_NULL;
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], r;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MUST(MPI_Group_size(group, &size));
  MUST(MPI_Group_rank(group, &rank));
  MUST(MPI_Dims_create(size, 2, dims));
  for (int reorder = 0; reorder < 2; ++reorder) {
    MUST(MPIX_Cart_create_from_group(group, "grid", MPI_INFO_NULL, MPI_ERRORS_RETURN, 2, dims,
                                     periods, reorder, &comm));
    check(comm, MPI_CART, size);
    MUST(MPI_Comm_rank(comm, &r));
    MUST(MPI_Cart_coords(comm, r, 2, coords));
    EXPECT(coords[0] == r / dims[1] && coords[1] == r % dims[1], "coordinates %d %d", coords[0],
           coords[1]);
    MUST(MPI_Comm_free(&comm));
  }
  int one[1] = {1};
  MUST(PMPIX_Cart_create_from_group(group, "point", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1, one,
                                    periods, 0, &comm));
  EXPECT((comm == MPI_COMM_NULL) == (rank != 0), "beyond the grid");
  if (comm != MPI_COMM_NULL) MUST(MPI_Comm_free(&comm));

  int indx[64], edges[64]; /* a ring */
  for (int i = 0; i < size; ++i) indx[i] = i + 1, edges[i] = (i + 1) % size;
  for (int reorder = 0; reorder < 2; ++reorder) {
    MUST(MPIX_Graph_create_from_group(group, "graph", MPI_INFO_NULL, MPI_ERRORS_RETURN, size, indx,
                                      edges, reorder, &comm));
    check(comm, MPI_GRAPH, size);
    int next = -1;
    MUST(MPI_Comm_rank(comm, &r));
    MUST(MPI_Graph_neighbors(comm, r, 1, &next));
    EXPECT(next == (r + 1) % size, "next %d", next);
    MUST(MPI_Comm_free(&comm));
    distributed(reorder);
  }

  /* an error at one member does not block others: a wrong edge is an error at all members, a wrong
   * neighbour at this one */
  int other = (rank + 1) % size;
  MUST_FAIL(MPI_ERR_ARG, MPIX_Dist_graph_create_from_group(
                             group, "wrong edges", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                             rank == 0 ? -1 : 1, &other, one, &other, MPI_UNWEIGHTED, 0, &none));
  if (rank == 0) {
    MUST_FAIL(MPI_ERR_RANK, MPIX_Dist_graph_create_adjacent_from_group(
                                group, "wrong neighbours", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1,
                                &size, MPI_UNWEIGHTED, 0, &other, MPI_UNWEIGHTED, 1, &none));
  } else {
    MUST(MPIX_Dist_graph_create_adjacent_from_group(group, "wrong neighbours", MPI_INFO_NULL,
                                                    MPI_ERRORS_RETURN, 1, &other, MPI_UNWEIGHTED, 0,
                                                    &other, MPI_UNWEIGHTED, 1, &comm));
    MUST(MPI_Comm_free(&comm));
  }
  EXPECT(none == MPI_COMM_NULL, "a communicator although the call failed");

  int large[1] = {size + 1};
  MUST_FAIL(MPI_ERR_DIMS,
            MPIX_Cart_create_from_group(group, "large", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1, large,
                                        periods, 0, &none));
  MUST_FAIL(MPI_ERR_GROUP,
            MPIX_Cart_create_from_group(MPI_GROUP_NULL, "null", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1,
                                        one, periods, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPIX_Graph_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                      1, indx, edges, 0, &none));
  MUST(MPIX_Cart_create_from_group(MPI_GROUP_EMPTY, "empty", MPI_INFO_NULL, MPI_ERRORS_RETURN, 1,
                                   one, periods, 0, &none));
  EXPECT(none == MPI_COMM_NULL, "of an empty group");
  if (size > 2) { /* a group of one takes part in no fence (INTERSESSION_EXCHANGE=world_fence) */
    MPI_Group others;
    int zero = 0, line[1] = {size - 1};
    MUST(MPI_Group_excl(group, 1, &zero, &others));
    MUST(MPIX_Cart_create_from_group(rank == 0 ? MPI_GROUP_EMPTY : others, "others", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, 1, line, periods, 0, &comm));
    EXPECT((comm == MPI_COMM_NULL) == (rank == 0), "outside the group");
    if (comm != MPI_COMM_NULL) {
      check(comm, MPI_CART, size - 1);
      MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Group_free(&others));
    MUST(MPIX_Cart_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, 2, dims,
                                     periods, 0, &comm));
    check(comm, MPI_CART, size);
    MUST(MPI_Comm_free(&comm));
  }
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
