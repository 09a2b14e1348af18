/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests neighborhood collectives on Cartesian grids of random shape, in each form, against a model:
 * data for the neighbour below arrives there from the neighbour above, also if both directions lead
 * to the same process. Argument: number of rounds. */
#include "model.h"

enum { MAX_DIMS = 3, MAX_NEIGHBOURS = 2 * MAX_DIMS, BLOCK_ITEMS = 20 };

static MPI_Comm grid = MPI_COMM_NULL;
static int neighbours, neighbour[MAX_NEIGHBOURS];

/* Create the next grid of all processes. From here on, ranks are ranks in the grid, which equal
 * ranks in world. */
static void make_grid(void) {
  int dims[MAX_DIMS] = {0, 0, 0}, periods[MAX_DIMS], count = 1 + all_draw(MAX_DIMS);
  for (int d = 0; d < count; ++d) periods[d] = all_draw(3) > 0;
  MUST(MPI_Dims_create(size, count, dims));
  MUST(MPI_Cart_create(world, count, dims, periods, 0, &grid));
  neighbours = 2 * count;
  for (int d = 0; d < count; ++d)
    MUST(MPI_Cart_shift(grid, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]));
}

/* Return the number, at its sender, of the block from neighbour n. */
static int opposite(int n) { return n ^ 1; }
static int item_of(int block, int i) { return 100 * block + i; }
/* Return the number of items in block `block` of rank `from`. */
static int salt;
static int traffic(int from, int block) { return (7 * from + 5 * block + salt) % BLOCK_ITEMS; }

struct blocks {
  int count[MAX_NEIGHBOURS], start[MAX_NEIGHBOURS];
  MPI_Count large_count[MAX_NEIGHBOURS];
  MPI_Aint large_start[MAX_NEIGHBOURS];
};
static int incoming(int n) {
  return neighbour[n] == MPI_PROC_NULL ? 3 : traffic(neighbour[n], opposite(n));
}
/* Return blocks at consecutive offsets from the origin, in items. */
static struct blocks blocks_of(int sends) {
  struct blocks made;
  int at = own_draw(3);
  for (int n = 0; n < neighbours; ++n) {
    made.large_count[n] = made.count[n] = sends ? traffic(rank, n) : incoming(n);
    made.large_start[n] = made.start[n] = at;
    at += made.count[n] + own_draw(3);
  }
  return made;
}

static void gathers(enum form form) {
  int count = all_draw(BLOCK_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int i = 0; i < count; ++i) put(&sent, out, i, rank, i);
  expected = got;
  for (int n = 0; n < neighbours; ++n)
    for (int i = 0; i < count && neighbour[n] != MPI_PROC_NULL; ++i)
      put(&expected, in, n * count + i, neighbour[n], i);
  RUN(form, Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, sent.origin, count,
      out->type, got.origin, count, in->type, grid);
  compare("Neighbor_allgather", form);
}

static void gathers_v(enum form form) {
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  struct blocks b = blocks_of(0);
  int count = traffic(rank, 0);
  begin();
  for (int i = 0; i < count; ++i) put(&sent, out, i, rank, i);
  for (int n = 0; n < neighbours; ++n)
    if (neighbour[n] != MPI_PROC_NULL) b.large_count[n] = b.count[n] = traffic(neighbour[n], 0);
  expected = got;
  int at = 0;
  for (int n = 0; n < neighbours; ++n) {
    b.large_start[n] = b.start[n] = at;
    at += b.count[n] + 1;
    for (int i = 0; i < b.count[n] && neighbour[n] != MPI_PROC_NULL; ++i)
      put(&expected, in, b.start[n] + i, neighbour[n], i);
  }
  RUN_V(form, Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init,
        (sent.origin, count, out->type, got.origin, b.count, b.start, in->type, grid),
        (sent.origin, count, out->type, got.origin, b.large_count, b.large_start, in->type, grid));
  compare("Neighbor_allgatherv", form);
}

static void exchanges(enum form form) {
  int count = all_draw(BLOCK_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int n = 0; n < neighbours; ++n)
    for (int i = 0; i < count; ++i) put(&sent, out, n * count + i, rank, item_of(n, i));
  expected = got;
  for (int n = 0; n < neighbours; ++n)
    for (int i = 0; i < count && neighbour[n] != MPI_PROC_NULL; ++i)
      put(&expected, in, n * count + i, neighbour[n], item_of(opposite(n), i));
  RUN(form, Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, sent.origin, count,
      out->type, got.origin, count, in->type, grid);
  compare("Neighbor_alltoall", form);
}

static void exchanges_v(enum form form) {
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  struct blocks s = blocks_of(1), b = blocks_of(0);
  begin();
  for (int n = 0; n < neighbours; ++n)
    for (int i = 0; i < s.count[n]; ++i) put(&sent, out, s.start[n] + i, rank, item_of(n, i));
  expected = got;
  for (int n = 0; n < neighbours; ++n)
    for (int i = 0; i < b.count[n] && neighbour[n] != MPI_PROC_NULL; ++i)
      put(&expected, in, b.start[n] + i, neighbour[n], item_of(opposite(n), i));
  RUN_V(form, Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init,
        (sent.origin, s.count, s.start, out->type, got.origin, b.count, b.start, in->type, grid),
        (sent.origin, s.large_count, s.large_start, out->type, got.origin, b.large_count,
         b.large_start, in->type, grid));
  compare("Neighbor_alltoallv", form);
}

static void exchanges_w(enum form form) {
  MPI_Datatype out_types[MAX_NEIGHBOURS], in_types[MAX_NEIGHBOURS];
  struct blocks s = blocks_of(1), b = blocks_of(0);
  begin();
  expected = got;
  for (int n = 0; n < neighbours; ++n) {
    const struct layout *out = &layouts[own_draw(layout_count)],
                        *in = &layouts[own_draw(layout_count)];
    int cells = n * MAX_BLOCK;
    out_types[n] = out->type;
    in_types[n] = in->type;
    s.large_start[n] = b.large_start[n] = cells * (MPI_Aint)sizeof(long);
    for (int i = 0; i < s.count[n]; ++i) put_from(&sent, cells, out, i, rank, item_of(n, i));
    for (int i = 0; i < b.count[n] && neighbour[n] != MPI_PROC_NULL; ++i)
      put_from(&expected, cells, in, i, neighbour[n], item_of(opposite(n), i));
  }
  RUN_V(form, Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init,
        (sent.origin, s.count, s.large_start, out_types, got.origin, b.count, b.large_start,
         in_types, grid),
        (sent.origin, s.large_count, s.large_start, out_types, got.origin, b.large_count,
         b.large_start, in_types, grid));
  compare("Neighbor_alltoallw", form);
}

static void round_of(enum form form) {
  make_grid();
  salt = all_draw(1000);
  gathers(form);
  gathers_v(form);
  exchanges(form);
  exchanges_v(form);
  exchanges_w(form);
  MUST(MPI_Comm_free(&grid));
}

/* A distributed graph with two edges to the right process and one to oneself: messages of two edges
 * between the same processes arrive in the order of both lists. */
static void multigraph(void) {
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int sources[3] = {left, rank, left}, destinations[3] = {right, rank, right};
  long out[3], in[3];
  MUST(MPI_Dist_graph_create_adjacent(world, 3, sources, MPI_UNWEIGHTED, 3, destinations,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &grid));
  for (enum form form = 0; form < FORMS; ++form) {
    for (int n = 0; n < 3; ++n) out[n] = 100 * rank + n, in[n] = -1;
    RUN(form, Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, out, 1, MPI_LONG, in,
        1, MPI_LONG, grid);
    for (int n = 0; n < 3; ++n)
      EXPECT(in[n] == 100 * sources[n] + n, "%s: from source %d: received %ld", form_names[form], n,
             in[n]);
  }
  MUST(MPI_Comm_free(&grid));
}

static void misuse(void) {
  long a[4] = {0}, b[4] = {0};
  int periods = 1;
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(a, 1, MPI_LONG, b, 1, MPI_LONG, world));
  MUST(MPI_Cart_create(world, 1, &size, &periods, 0, &grid));
  MUST_FAIL(MPI_ERR_BUFFER,
            MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_LONG, b, 1, MPI_LONG, grid));
  MUST_FAIL(MPI_ERR_COUNT, MPI_Neighbor_alltoall(a, -1, MPI_LONG, b, 1, MPI_LONG, grid));
  MUST_FAIL(MPI_ERR_ARG, MPI_Neighbor_allgatherv(a, 1, MPI_LONG, b, NULL, NULL, MPI_LONG, grid));
  MUST(MPI_Comm_free(&grid));
}

int main(int argc, char** argv) {
  open_world("test.neighbours");
  make_layouts();
  for_rounds(argc > 1 ? atoi(argv[1]) : 12, round_of);
  multigraph();
  misuse();
  free_layouts();
  return close_world();
}
