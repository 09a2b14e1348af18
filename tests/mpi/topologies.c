/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests graphs, distributed graphs, and corner cases of grids. The model of a graph is a function
 * of two ranks. */
#include "session_world.h"

#define MOST 64

/* Return the number of edges from one rank to another. */
static int edges_between(int from, int to) {
  return (from * 7 + to * 3) % 4 == 0 ? 1 + (from == to) : 0;
}
static int weight_of(int from, int to) { return from * 100 + to; }

static int topology_of(MPI_Comm comm) {
  int kind = -1;
  MUST(MPI_Topo_test(comm, &kind));
  return kind;
}

static void graphs(int nodes, int reorder) {
  int indx[MOST], edges[MOST * MOST], count = 0;
  for (int from = 0; from < nodes; ++from) {
    for (int to = nodes - 1; to >= 0; --to)
      for (int i = 0; i < edges_between(from, to); ++i) edges[count++] = to;
    indx[from] = count;
  }
  MPI_Comm graph, copy, plain;
  MUST(MPI_Graph_create(world, nodes, indx, edges, reorder, &graph));
  EXPECT((graph == MPI_COMM_NULL) == (rank >= nodes), "a graph of %d", nodes);
  int mapped = -5;
  if (nodes > 0) {
    MUST(MPI_Graph_map(world, nodes, indx, edges, &mapped));
    EXPECT((mapped == MPI_UNDEFINED) == (rank >= nodes), "mapped to %d", mapped);
  }
  if (graph == MPI_COMM_NULL) return;
  MUST(MPI_Comm_dup(graph, &copy));
  MUST(MPI_Comm_split(graph, 0, 0, &plain));
  EXPECT(topology_of(plain) == MPI_UNDEFINED, "a part of a graph is a graph");
  MUST(MPI_Comm_free(&plain));
  for (int round = 0; round < 2; ++round) {
    MPI_Comm comm = round == 0 ? graph : copy;
    int got_nodes, got_edges, got_index[MOST], got[MOST * MOST], r;
    EXPECT(topology_of(comm) == MPI_GRAPH, "topology");
    MUST(MPI_Comm_rank(comm, &r));
    EXPECT(r == (reorder ? mapped : rank), "rank %d", r);
    MUST(MPI_Graphdims_get(comm, &got_nodes, &got_edges));
    EXPECT(got_nodes == nodes && got_edges == count, "%d nodes, %d edges", got_nodes, got_edges);
    MUST(MPI_Graph_get(comm, nodes, count, got_index, got));
    EXPECT(memcmp(got_index, indx, sizeof(int) * (size_t)nodes) == 0 &&
               memcmp(got, edges, sizeof(int) * (size_t)count) == 0,
           "MPI_Graph_get");
    for (int node = 0; node < nodes; ++node) {
      const int first = node == 0 ? 0 : indx[node - 1];
      int n = -1;
      MUST(MPI_Graph_neighbors_count(comm, node, &n));
      EXPECT(n == indx[node] - first, "%d neighbors", n);
      memset(got, 0x7f, sizeof got);
      MUST(MPI_Graph_neighbors(comm, node, n, got));
      EXPECT(memcmp(got, edges + first, sizeof(int) * (size_t)n) == 0, "MPI_Graph_neighbors");
    }
  }
  int dummy;
  MUST_FAIL(MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, nodes, &dummy));
  MUST_FAIL(MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, -1, &dummy));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(graph, &dummy));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(graph, &dummy, &dummy, &dummy));
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&graph));
}

/* Compute the expected neighbours of a rank, sorted as (rank, weight). */
static int model(int own, int is_source, int weighted, int* pairs) {
  int n = 0;
  for (int other = 0; other < size; ++other) {
    const int from = is_source ? own : other, to = is_source ? other : own;
    for (int i = 0; i < edges_between(from, to); ++i) {
      pairs[2 * n] = other;
      pairs[2 * n + 1] = weighted ? weight_of(from, to) : 0;
      ++n;
    }
  }
  return n;
}
static int compare_pairs(const void* a, const void* b) {
  const int *x = a, *y = b;
  return x[0] != y[0] ? x[0] - y[0] : x[1] - y[1];
}

static void check_distributed(MPI_Comm comm, int weighted, int in_order) {
  int own, in = -1, out = -1, got_weighted = -1, sources[MOST * 2], destinations[MOST * 2],
           source_weights[MOST * 2], destination_weights[MOST * 2];
  int pairs[MOST * 4], want[MOST * 4];
  EXPECT(topology_of(comm) == MPI_DIST_GRAPH, "topology");
  MUST(MPI_Comm_rank(comm, &own));
  MUST(MPI_Dist_graph_neighbors_count(comm, &in, &out, &got_weighted));
  EXPECT(got_weighted == weighted, "weighted %d", got_weighted);
  memset(source_weights, 0, sizeof source_weights);
  memset(destination_weights, 0, sizeof destination_weights);
  MUST(MPI_Dist_graph_neighbors(comm, in, sources, source_weights, out, destinations,
                                destination_weights));
  for (int side = 0; side < 2; ++side) {
    const int n = side ? out : in, *ranks = side ? destinations : sources,
              *weights = side ? destination_weights : source_weights;
    const int wanted = model(own, side, weighted, want);
    EXPECT(n == wanted, "%d neighbors on side %d, not %d", n, side, wanted);
    for (int i = 0; i < n; ++i) pairs[2 * i] = ranks[i], pairs[2 * i + 1] = weights[i];
    if (!in_order) qsort(pairs, (size_t)n, 2 * sizeof(int), compare_pairs);
    EXPECT(memcmp(pairs, want, 2 * sizeof(int) * (size_t)n) == 0, "neighbors on side %d", side);
  }
  if (in > 0 && weighted) { /* fewer than all, without weights */
    sources[0] = -1;
    MUST(MPI_Dist_graph_neighbors(comm, 1, sources, MPI_UNWEIGHTED, 0, destinations,
                                  MPI_UNWEIGHTED));
    EXPECT(sources[0] >= 0, "MPI_UNWEIGHTED");
  }
}

static void distributed(int weighted, int reorder) {
  int pairs[MOST * 4], sources[MOST * 2], source_weights[MOST * 2], destinations[MOST * 2],
      destination_weights[MOST * 2];
  MPI_Comm comm, copy;
  const int in = model(rank, 0, 1, pairs);
  for (int i = 0; i < in; ++i) sources[i] = pairs[2 * i], source_weights[i] = pairs[2 * i + 1];
  const int out = model(rank, 1, 1, pairs);
  for (int i = 0; i < out; ++i)
    destinations[i] = pairs[2 * i], destination_weights[i] = pairs[2 * i + 1];
  MUST(MPI_Dist_graph_create_adjacent(
      world, in, sources, weighted ? in ? source_weights : MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED, out,
      destinations, weighted ? out ? destination_weights : MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED,
      MPI_INFO_NULL, reorder, &comm));
  check_distributed(comm, weighted, 1);
  MUST(MPI_Comm_dup(comm, &copy));
  check_distributed(copy, weighted, 1);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&comm));

  /* each edge is specified by a process that is at neither of its ends, if there are enough
   * processes */
  int n = 0, edges = 0, from[MOST * MOST], degrees[MOST * MOST], to[MOST * MOST * 2],
      weights[MOST * MOST * 2];
  for (int source = 0; source < size; ++source)
    for (int destination = 0; destination < size; ++destination) {
      const int count = edges_between(source, destination);
      if ((source + destination + 1) % size != rank || count == 0) continue;
      from[n] = source, degrees[n++] = count;
      for (int i = 0; i < count; ++i)
        to[edges] = destination, weights[edges++] = weight_of(source, destination);
    }
  MUST(MPI_Dist_graph_create(world, n, from, degrees, to,
                             weighted ? edges ? weights : MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED,
                             MPI_INFO_NULL, reorder, &comm));
  check_distributed(comm, weighted, 0);
  MUST(MPI_Comm_free(&comm));
}

/* Return the sum over all processes of their neighbours on other nodes. */
static int neighbours_on_other_nodes(MPI_Comm comm, int node) {
  int r, n, in, out, weighted, sources[MOST], destinations[MOST], node_of[MOST], remote = 0, sum;
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Allgather(&node, 1, MPI_INT, node_of, 1, MPI_INT, comm));
  MUST(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  MUST(MPI_Dist_graph_neighbors(comm, in, sources, MPI_UNWEIGHTED, out, destinations,
                                MPI_UNWEIGHTED));
  for (int i = 0; i < out; ++i) remote += node_of[destinations[i]] != node;
  MUST(MPI_Allreduce(&remote, &sum, 1, MPI_INT, MPI_SUM, comm));
  return sum;
}

/* Each process has one neighbour, half way around: with two processes per node, each pair can share
 * a node. */
static void pairs_share_nodes(void) {
  MPI_Comm on_node, comm;
  int node = rank, other = (rank + size / 2) % size, remote[2];
  if (size % 2 != 0) return;
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on_node));
  MUST(MPI_Bcast(&node, 1, MPI_INT, 0, on_node));
  MUST(MPI_Comm_free(&on_node));
  for (int reorder = 0; reorder < 2; ++reorder) {
    MUST(MPI_Dist_graph_create_adjacent(world, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, reorder, &comm));
    remote[reorder] = neighbours_on_other_nodes(comm, node);
    MUST(MPI_Comm_free(&comm));
  }
  int last = 0; /* a node other than that of rank 0 has another number */
  MUST(MPI_Allreduce(&node, &last, 1, MPI_INT, MPI_MAX, world));
  EXPECT((remote[0] > 0) == (last > 0), "%d neighbours on other nodes without reordering",
         remote[0]);
  EXPECT(remote[1] == 0, "%d neighbours on other nodes with reordering, %d without", remote[1],
         remote[0]);
}

static void grids(void) {
  MPI_Comm point, grid, part;
  int n = -1, dims[4] = {1, 0, 1, 0}, periods[4] = {1, 0, 0, 1}, coords[4] = {9, 9, 9, 9}, r = -1,
      mapped = -1, source, destination;
  MUST(MPI_Cart_create(world, 0, NULL, NULL, 0, &point)); /* no dimensions: one process */
  EXPECT((point == MPI_COMM_NULL) == (rank != 0), "a grid without dimensions");
  if (point != MPI_COMM_NULL) {
    MUST(MPI_Cartdim_get(point, &n));
    EXPECT(n == 0, "%d dimensions", n);
    MUST(MPI_Cart_rank(point, NULL, &r));
    EXPECT(r == 0, "rank %d", r);
    MUST(MPI_Cart_coords(point, 0, 0, NULL));
    MUST(MPI_Cart_get(point, 0, NULL, NULL, NULL));
    MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_shift(point, 0, 1, &source, &destination));
    MUST(MPI_Cart_sub(point, NULL, &part));
    EXPECT(topology_of(part) == MPI_CART, "topology");
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_free(&point));
  }
  MUST(MPI_Dims_create(size, 4, dims));
  MUST(MPI_Cart_create(world, 4, dims, periods, 1, &grid));
  MUST(MPI_Comm_rank(grid, &r));
  MUST(MPI_Cart_map(world, 4, dims, periods, &mapped));
  EXPECT(mapped == r, "MPI_Cart_map returns %d, not %d", mapped, r);
  MUST(MPI_Cart_coords(grid, r, 4, coords));
  EXPECT(coords[0] == 0 && coords[2] == 0, "dimensions of 1");
  MUST(MPI_Cart_shift(grid, 0, 1, &source, &destination)); /* periodic in a dimension of size 1 */
  EXPECT(source == r && destination == r, "%d and %d", source, destination);
  MUST(MPI_Cart_shift(grid, 2, 1, &source, &destination));
  EXPECT(source == MPI_PROC_NULL && destination == MPI_PROC_NULL, "%d and %d", source, destination);
  MUST(MPI_Cart_shift(grid, 3, 0, &source, &destination));
  EXPECT(source == r && destination == r, "no displacement");
  for (int mask = 0; mask < 16; ++mask) { /* each sub-grid */
    int remain[4], wanted = 1, sub_dims[4], sub_periods[4], sub_coords[4], at = 0;
    for (int i = 0; i < 4; ++i) {
      remain[i] = mask >> i & 1;
      if (remain[i]) wanted *= dims[i];
    }
    MUST(MPI_Cart_sub(grid, remain, &part));
    MUST(MPI_Comm_size(part, &n));
    EXPECT(n == wanted, "%d processes, not %d", n, wanted);
    MUST(MPI_Cart_get(part, 4, sub_dims, sub_periods, sub_coords));
    for (int i = 0; i < 4; ++i) {
      if (!remain[i]) continue;
      EXPECT(
          sub_dims[at] == dims[i] && sub_periods[at] == periods[i] && sub_coords[at] == coords[i],
          "dimension %d", i);
      ++at;
    }
    MUST(MPI_Comm_free(&part));
  }
  MUST(MPI_Comm_free(&grid));
  /* beyond the grid */
  int one[1] = {1};
  MUST(MPI_Cart_map(world, 1, one, periods, &mapped));
  EXPECT(mapped == (rank == 0 ? 0 : MPI_UNDEFINED), "mapped to %d", mapped);
}

static void misuse(void) {
  MPI_Comm none = MPI_COMM_NULL, stale, plain;
  int dummy, zero[1] = {0}, minus[1] = {-1}, large[1] = {size + 1}, indx[2] = {1, 2},
             falling[2] = {2, 1}, edges[2] = {0, 0}, wrong[2] = {0, 7777};
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, 1, zero, zero, 0, &none));
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, 1, minus, zero, 0, &none));
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, -1, large, zero, 0, &none));
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, 1, large, zero, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Cart_create(world, 1, NULL, zero, 0, &none));
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_map(world, 1, large, zero, &dummy));
  MUST_FAIL(MPI_ERR_ARG, MPI_Graph_create(world, size + 1, indx, edges, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Graph_create(world, -1, indx, edges, 0, &none));
  if (size > 1) MUST_FAIL(MPI_ERR_ARG, MPI_Graph_create(world, 2, falling, edges, 0, &none));
  if (size > 1) MUST_FAIL(MPI_ERR_ARG, MPI_Graph_create(world, 2, indx, wrong, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Graph_create(world, 1, indx, NULL, 0, &none));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(world, &dummy, &dummy));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Graph_get(world, 1, 1, indx, edges));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors_count(world, 0, &dummy));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors(world, 0, 1, edges));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(world, &dummy, &dummy, &dummy));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Cart_sub(world, zero, &none));
  MUST_FAIL(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(world, 1, &size, MPI_UNWEIGHTED, 0, zero,
                                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(world, -1, zero, MPI_UNWEIGHTED, 0, zero,
                                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Dist_graph_create_adjacent(world, 1, zero, minus, 0, zero, MPI_WEIGHTS_EMPTY,
                                           MPI_INFO_NULL, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(world, 1, zero, zero, 1, zero,
                                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Dist_graph_create_adjacent(world, 1, zero, MPI_WEIGHTS_EMPTY, 0, zero,
                                           MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &none));
  /* an error at one member is an error at all members: none waits */
  int one[1] = {1}, *bad = rank == size - 1 ? large : zero;
  /* invalid arguments at one member: no member waits */
  MUST_FAIL(MPI_ERR_ARG, MPI_Dist_graph_create(world, rank == 0 ? -1 : 1, zero, one, zero,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none));
  MUST_FAIL(
      rank == size - 1 ? MPI_ERR_RANK : MPI_ERR_ARG,
      MPI_Dist_graph_create(world, 1, zero, one, bad, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &none));
  EXPECT(none == MPI_COMM_NULL, "a communicator although the call failed");
  MUST(MPI_Comm_dup(world, &plain));
  stale = plain;
  MUST(MPI_Comm_free(&plain));
  (void)stale;
}

int main(void) {
  open_world("test.topologies");
  for (int reorder = 0; reorder < 2; ++reorder) {
    for (int nodes = 0; nodes <= size; ++nodes) graphs(nodes, reorder);
    distributed(0, reorder);
    distributed(1, reorder);
  }
  pairs_share_nodes();
  grids();
  misuse();
  return close_world();
}
