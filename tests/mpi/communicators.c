/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests communicators derived from a session communicator: duplicates, splits, subgroups, grids;
 * and their queries. */
#include "session_world.h"

/* Check point-to-point and collective communication: a ring of messages and a sum. Members of other
 * communicators receive none of these messages. */
static void exercise(MPI_Comm comm, int salt) {
  int r, n, got = -1, sum = 0, expected = 0;
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Comm_size(comm, &n));
  int sent = r * 100 + salt;
  MUST(MPI_Sendrecv(&sent, 1, MPI_INT, (r + 1) % n, 5, &got, 1, MPI_INT, (r + n - 1) % n, 5, comm,
                    MPI_STATUS_IGNORE));
  EXPECT(got == (r + n - 1) % n * 100 + salt, "ring gave %d", got);
  MUST(MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < n; ++i) expected += i * 100 + salt;
  EXPECT(sum == expected, "sum %d, not %d", sum, expected);
}

static int comparison(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MUST(MPI_Comm_compare(a, b, &result));
  return result;
}

/* More duplicates than a communicator can number without communication, some kept, some freed, and
 * duplicates of duplicates. */
static void duplicates(void) {
  MPI_Comm kept[20], deep = world, next;
  for (int i = 0; i < 300; ++i) {
    MPI_Comm copy;
    MUST(MPI_Comm_dup(world, &copy));
    if (i % 50 == 0) exercise(copy, i);
    EXPECT(comparison(world, copy) == MPI_CONGRUENT, "a duplicate is not congruent");
    if (i < 20)
      kept[i] = copy;
    else
      MUST(MPI_Comm_free(&copy));
  }
  for (int i = 0; i < 20; ++i) {
    exercise(kept[i], i);
    MUST(MPI_Comm_free(&kept[i]));
    EXPECT(kept[i] == MPI_COMM_NULL, "the handle is not null");
  }
  for (int depth = 0; depth < 10; ++depth) {
    MUST(MPI_Comm_dup(deep, &next));
    exercise(next, depth);
    if (deep != world) MUST(MPI_Comm_free(&deep));
    deep = next;
  }
  MUST(MPI_Comm_free(&deep));
  EXPECT(comparison(world, world) == MPI_IDENT, "not MPI_IDENT with itself");
}

static void splits(void) {
  MPI_Comm half, none, node, reversed;
  int r, n;
  MUST(MPI_Comm_split(world, rank % 2, rank, &half));
  exercise(half, 1);
  MUST(MPI_Comm_size(half, &n));
  EXPECT(n == (size + (rank % 2 == 0)) / 2, "half of %d is %d", size, n);
  MUST(MPI_Comm_split(world, 0, -rank, &reversed));
  MUST(MPI_Comm_rank(reversed, &r));
  EXPECT(r == size - 1 - rank, "rank %d with reversed keys", r);
  EXPECT(comparison(world, reversed) == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR),
         "not MPI_SIMILAR with reversed keys");
  exercise(reversed, 2);
  MUST(MPI_Comm_split(world, rank == 0 ? MPI_UNDEFINED : 7, 0, &none));
  EXPECT((none == MPI_COMM_NULL) == (rank == 0), "MPI_UNDEFINED");
  if (none != MPI_COMM_NULL) {
    exercise(none, 3);
    EXPECT(comparison(world, none) == MPI_UNEQUAL, "a part is not MPI_UNEQUAL");
    MUST(MPI_Comm_free(&none));
  }
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  exercise(node, 4);
  MUST(MPI_Comm_free(&node));
  MUST(MPI_Comm_free(&reversed));
  MUST(MPI_Comm_free(&half));
}

static void subgroups(void) {
  MPI_Group all, evens, others, own;
  MPI_Comm some, created;
  int result;
  MUST(MPI_Comm_group(world, &all));
  int range[1][3] = {{0, size - 1, 2}};
  MUST(MPI_Group_range_incl(all, 1, range, &evens));
  MUST(MPI_Group_difference(all, evens, &others));
  MUST(MPI_Group_range_excl(all, 1, range, &own));
  MUST(MPI_Group_compare(own, others, &result));
  EXPECT(result == MPI_IDENT, "MPI_Group_range_excl");
  MUST(MPI_Group_free(&own));
  if (rank % 2 == 0) { /* odd ranks do not call */
    MUST(MPI_Comm_create_group(world, evens, 33, &some));
    exercise(some, 5);
    MUST(MPI_Comm_group(some, &own));
    MUST(MPI_Group_compare(own, evens, &result));
    EXPECT(result == MPI_IDENT, "the group differs");
    MUST(MPI_Group_free(&own));
    MUST(MPI_Comm_free(&some));
  }
  MUST(MPI_Comm_create(world, rank % 2 ? others : evens, &created));
  exercise(created, 6);
  MUST(MPI_Comm_free(&created));
  MUST(MPI_Comm_create(world, evens, &created));
  EXPECT((created == MPI_COMM_NULL) == (rank % 2 == 1), "MPI_Comm_create with a part of the group");
  if (created != MPI_COMM_NULL) MUST(MPI_Comm_free(&created));
  MUST(MPI_Group_free(&all));
  MUST(MPI_Group_free(&evens));
  MUST(MPI_Group_free(&others));
}

static void names_and_questions(void) {
  EXPECT(MPI_Session_f2c(MPI_Session_c2f(session)) == session,
         "the session by its Fortran integer");
  char name[MPI_MAX_OBJECT_NAME];
  int length, inter = -1, flag = 0, topology = -1, *bound;
  MUST(MPI_Comm_set_name(world, "the world of a test"));
  MUST(MPI_Comm_get_name(world, name, &length));
  EXPECT(strcmp(name, "the world of a test") == 0 && length == (int)strlen(name), "name %s", name);
  MUST(MPI_Comm_test_inter(world, &inter));
  EXPECT(inter == 0, "inter %d", inter);
  MUST(MPI_Comm_get_attr(world, MPI_TAG_UB, &bound, &flag));
  EXPECT(flag && *bound >= 32767, "MPI_TAG_UB");
  MUST(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, *bound, world));
  MUST(MPI_Topo_test(world, &topology));
  EXPECT(topology == MPI_UNDEFINED, "topology %d", topology);
}

static void grids(void) {
  int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3], back, got_dims[3], got_periods[3],
      got_coords[3], ndims, kind;
  MPI_Comm grid, line;
  MUST(MPI_Dims_create(size, 3, dims));
  EXPECT(dims[0] * dims[1] * dims[2] == size && dims[0] >= dims[1] && dims[1] >= dims[2],
         "dims %d %d %d", dims[0], dims[1], dims[2]);
  MUST(MPI_Cart_create(world, 3, dims, periods, 0, &grid));
  MUST(MPI_Topo_test(grid, &kind));
  EXPECT(kind == MPI_CART, "topology %d", kind);
  MUST(MPI_Cartdim_get(grid, &ndims));
  EXPECT(ndims == 3, "ndims %d", ndims);
  MUST(MPI_Cart_get(grid, 3, got_dims, got_periods, got_coords));
  MUST(MPI_Cart_coords(grid, rank, 3, coords));
  EXPECT(memcmp(coords, got_coords, sizeof coords) == 0 && memcmp(dims, got_dims, sizeof dims) == 0,
         "Cart_get");
  MUST(MPI_Cart_rank(grid, coords, &back));
  EXPECT(back == rank, "rank %d", back);
  coords[0] += 5 * dims[0]; /* periodic */
  MUST(MPI_Cart_rank(grid, coords, &back));
  EXPECT(back == rank, "rank %d with periodic coordinates", back);
  int from, to, value = rank, got = -1;
  MUST(MPI_Cart_shift(grid, 0, 1, &from, &to));
  MUST(MPI_Sendrecv(&value, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, grid, MPI_STATUS_IGNORE));
  EXPECT(got == from, "shift received %d from %d", got, from);
  MUST(MPI_Cart_shift(grid, 1, 1, &from, &to));
  EXPECT((got_coords[1] == 0) == (from == MPI_PROC_NULL), "the edge of the grid");
  const int remain[3] = {0, 1, 1};
  MUST(MPI_Cart_sub(grid, remain, &line));
  MUST(MPI_Comm_size(line, &back));
  EXPECT(back == dims[1] * dims[2], "sub-grid of %d", back);
  exercise(line, 9);
  MUST(MPI_Comm_free(&line));
  int small[1] = {1}, no[1] = {0};
  MUST(MPI_Cart_create(world, 1, small, no, 0, &line));
  EXPECT((line == MPI_COMM_NULL) == (rank != 0), "a grid of one");
  if (line != MPI_COMM_NULL) MUST(MPI_Comm_free(&line));
  int too_large[1] = {size + 1};
  MPI_Comm bad = MPI_COMM_NULL;
  int code = MPI_Cart_create(world, 1, too_large, no, 0, &bad);
  EXPECT(code != MPI_SUCCESS, "a grid larger than the communicator");
  MUST(MPI_Comm_free(&grid));
}

int main(void) {
  open_world("test.communicators");
  duplicates();
  splits();
  subgroups();
  names_and_questions();
  grids();
  exercise(world, 77);
  return close_world();
}
