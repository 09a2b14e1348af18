/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests collectives on an intercommunicator between the even and the odd ranks, in each form,
 * against a model (MPI-4.1 §6.2.2). Argument: number of rounds. */
#include "model.h"

enum { MAX_SIDE = 8, MAX_ITEMS = 30 };

static MPI_Comm inter = MPI_COMM_NULL;
static int side, here, there,
    self; /* `here`, `there`: sizes of the local and the remote group; `self`: local rank */

static int rank_there(int r) { return 2 * r + 1 - side; }

/* The root: its group and rank, and the value of the argument at this process. */
static int root_side, root_rank;
static int draw_root(void) {
  root_side = all_draw(2);
  root_rank = all_draw(root_side == side ? here : there);
  if (root_side != side) return root_rank;
  return root_rank == self ? MPI_ROOT : MPI_PROC_NULL;
}
static int root_in_world(void) { return 2 * root_rank + root_side; }

struct blocks {
  int count[MAX_SIDE], start[MAX_SIDE];
  MPI_Count large_count[MAX_SIDE];
  MPI_Aint large_start[MAX_SIDE];
};
static struct blocks blocks_of(const int* counts) {
  struct blocks made;
  int at = own_draw(3);
  for (int r = 0; r < there; ++r) {
    made.large_count[r] = made.count[r] = counts[r];
    made.large_start[r] = made.start[r] = at;
    at += counts[r] + own_draw(3);
  }
  return made;
}
static int salt;
static int traffic(int from, int to) { return (5 * from + 3 * to + salt) % MAX_ITEMS; }
static int item_for(int to, int i) { return 100 * to + i; }
static const struct layout* any_layout(void) { return &layouts[own_draw(layout_count)]; }

static void broadcasts(enum form form) {
  int root = draw_root(), count = all_draw(MAX_ITEMS);
  const struct layout* l = any_layout();
  begin();
  for (int i = 0; i < count && root == MPI_ROOT; ++i) put(&got, l, i, rank, i);
  expected = got;
  for (int i = 0; i < count && root >= 0; ++i) put(&expected, l, i, root_in_world(), i);
  RUN(form, Bcast, Ibcast, Bcast_init, got.origin, count, l->type, root, inter);
  compare("Bcast", form);
}

static void gathers(enum form form) {
  int root = draw_root(), count = all_draw(MAX_ITEMS), counts[MAX_SIDE];
  const struct layout *out = any_layout(), *in = any_layout();
  begin();
  for (int i = 0; i < MAX_ITEMS; ++i) put(&sent, out, i, rank, i);
  expected = got;
  for (int r = 0; r < there && root == MPI_ROOT; ++r)
    for (int i = 0; i < count; ++i) put(&expected, in, r * count + i, rank_there(r), i);
  RUN(form, Gather, Igather, Gather_init, sent.origin, count, out->type, got.origin, count,
      in->type, root, inter);
  compare("Gather", form);
  for (int r = 0; r < there; ++r) counts[r] = traffic(rank_there(r), 0);
  struct blocks b = blocks_of(counts);
  expected = got;
  for (int r = 0; r < there && root == MPI_ROOT; ++r)
    for (int i = 0; i < counts[r]; ++i) put(&expected, in, b.start[r] + i, rank_there(r), i);
  count = traffic(rank, 0);
  RUN_V(form, Gatherv, Igatherv, Gatherv_init,
        (sent.origin, count, out->type, got.origin, b.count, b.start, in->type, root, inter),
        (sent.origin, count, out->type, got.origin, b.large_count, b.large_start, in->type, root,
         inter));
  compare("Gatherv", form);
}

static void scatters(enum form form) {
  int root = draw_root(), count = all_draw(MAX_ITEMS), counts[MAX_SIDE];
  const struct layout *out = any_layout(), *in = any_layout();
  begin();
  for (int i = 0; i < there * count && root == MPI_ROOT; ++i) put(&sent, out, i, rank, i);
  expected = got;
  for (int i = 0; i < count && root >= 0; ++i)
    put(&expected, in, i, root_in_world(), self * count + i);
  RUN(form, Scatter, Iscatter, Scatter_init, sent.origin, count, out->type, got.origin, count,
      in->type, root, inter);
  compare("Scatter", form);
  for (int r = 0; r < there; ++r) counts[r] = traffic(0, rank_there(r));
  struct blocks b = blocks_of(counts);
  begin();
  for (int r = 0; r < there && root == MPI_ROOT; ++r)
    for (int i = 0; i < counts[r]; ++i) put(&sent, out, b.start[r] + i, rank, item_for(r, i));
  expected = got;
  count = traffic(0, rank);
  for (int i = 0; i < count && root >= 0; ++i)
    put(&expected, in, i, root_in_world(), item_for(self, i));
  RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
        (sent.origin, b.count, b.start, out->type, got.origin, count, in->type, root, inter),
        (sent.origin, b.large_count, b.large_start, out->type, got.origin, count, in->type, root,
         inter));
  compare("Scatterv", form);
}

static void all_gathers(enum form form) {
  int counts[MAX_SIDE], count_here = 3 + salt % 7,
                        count_there = count_here; /* counts may differ between the groups */
  if (side == 0)
    count_here = salt % 9;
  else
    count_there = salt % 9;
  const struct layout *out = any_layout(), *in = any_layout();
  begin();
  for (int i = 0; i < MAX_ITEMS; ++i) put(&sent, out, i, rank, i);
  expected = got;
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < count_there; ++i) put(&expected, in, r * count_there + i, rank_there(r), i);
  RUN(form, Allgather, Iallgather, Allgather_init, sent.origin, count_here, out->type, got.origin,
      count_there, in->type, inter);
  compare("Allgather", form);
  for (int r = 0; r < there; ++r) counts[r] = traffic(rank_there(r), 0);
  struct blocks b = blocks_of(counts);
  expected = got;
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < counts[r]; ++i) put(&expected, in, b.start[r] + i, rank_there(r), i);
  RUN_V(form, Allgatherv, Iallgatherv, Allgatherv_init,
        (sent.origin, traffic(rank, 0), out->type, got.origin, b.count, b.start, in->type, inter),
        (sent.origin, traffic(rank, 0), out->type, got.origin, b.large_count, b.large_start,
         in->type, inter));
  compare("Allgatherv", form);
}

static void exchanges(enum form form) {
  int count = all_draw(MAX_ITEMS), out_counts[MAX_SIDE], in_counts[MAX_SIDE];
  const struct layout *out = any_layout(), *in = any_layout();
  begin();
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < count; ++i) put(&sent, out, r * count + i, rank, item_for(r, i));
  expected = got;
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < count; ++i)
      put(&expected, in, r * count + i, rank_there(r), item_for(self, i));
  RUN(form, Alltoall, Ialltoall, Alltoall_init, sent.origin, count, out->type, got.origin, count,
      in->type, inter);
  compare("Alltoall", form);
  for (int r = 0; r < there; ++r)
    out_counts[r] = traffic(rank, rank_there(r)), in_counts[r] = traffic(rank_there(r), rank);
  struct blocks s = blocks_of(out_counts), b = blocks_of(in_counts);
  begin();
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < out_counts[r]; ++i) put(&sent, out, s.start[r] + i, rank, item_for(r, i));
  expected = got;
  for (int r = 0; r < there; ++r)
    for (int i = 0; i < in_counts[r]; ++i)
      put(&expected, in, b.start[r] + i, rank_there(r), item_for(self, i));
  RUN_V(form, Alltoallv, Ialltoallv, Alltoallv_init,
        (sent.origin, s.count, s.start, out->type, got.origin, b.count, b.start, in->type, inter),
        (sent.origin, s.large_count, s.large_start, out->type, got.origin, b.large_count,
         b.large_start, in->type, inter));
  compare("Alltoallv", form);
}

static void exchanges_w(enum form form) {
  struct {
    int count[MAX_SIDE], at[MAX_SIDE];
    MPI_Count large[MAX_SIDE];
    MPI_Aint large_at[MAX_SIDE];
    MPI_Datatype type[MAX_SIDE];
  } s, b;
  begin();
  expected = got;
  for (int r = 0; r < there; ++r) {
    const struct layout *out = any_layout(), *in = any_layout();
    s.type[r] = out->type, b.type[r] = in->type;
    s.large[r] = s.count[r] = traffic(rank, rank_there(r));
    b.large[r] = b.count[r] = traffic(rank_there(r), rank);
    s.large_at[r] = b.large_at[r] = s.at[r] = b.at[r] = r * MAX_BLOCK * (int)sizeof(long);
    for (int i = 0; i < s.count[r]; ++i)
      put_from(&sent, r * MAX_BLOCK, out, i, rank, item_for(r, i));
    for (int i = 0; i < b.count[r]; ++i)
      put_from(&expected, r * MAX_BLOCK, in, i, rank_there(r), item_for(self, i));
  }
  RUN_V(form, Alltoallw, Ialltoallw, Alltoallw_init,
        (sent.origin, s.count, s.at, s.type, got.origin, b.count, b.at, b.type, inter),
        (sent.origin, s.large, s.large_at, s.type, got.origin, b.large, b.large_at, b.type, inter));
  compare("Alltoallw", form);
}

/* Return the sum over the remote group. */
static long sum_there(int i) {
  long sum = 0;
  for (int r = 0; r < there; ++r) sum += value_of(rank_there(r), i, 0);
  return sum;
}
static void begin_longs(int count) {
  begin();
  for (int i = 0; i < count; ++i) sent.origin[i] = value_of(rank, i, 0);
  expected = got;
}
static long* expected_at(int i) { return &expected.cell[ORIGIN + i]; }

static void reductions(enum form form) {
  int root = draw_root(), count = all_draw(100);
  begin_longs(count);
  for (int i = 0; i < count && root == MPI_ROOT; ++i) *expected_at(i) = sum_there(i);
  RUN(form, Reduce, Ireduce, Reduce_init, root == MPI_ROOT ? NULL : sent.origin,
      root == MPI_ROOT ? got.origin : NULL, count, MPI_LONG, MPI_SUM, root, inter);
  compare("Reduce", form);
  begin_longs(count);
  for (int i = 0; i < count; ++i) *expected_at(i) = sum_there(i);
  RUN(form, Allreduce, Iallreduce, Allreduce_init, sent.origin, got.origin, count, MPI_LONG,
      MPI_SUM, inter);
  compare("Allreduce", form);
}

/* The vectors of both groups have one length; each group scatters by its own counts, and its last
 * member gets the rest. */
static void scattered(enum form form) {
  int counts[MAX_SIDE], each = all_draw(9), total = each * here * there, first = 0, left = total;
  MPI_Count large[MAX_SIDE];
  for (int r = 0; r < here; ++r) {
    int count = r == here - 1 ? left : (each * there * (r + 1)) % (left + 1);
    large[r] = counts[r] = count;
    left -= count;
    if (r < self) first += count;
  }
  begin_longs(total);
  for (int i = 0; i < counts[self]; ++i) *expected_at(i) = sum_there(first + i);
  RUN_V(form, Reduce_scatter, Ireduce_scatter, Reduce_scatter_init,
        (sent.origin, got.origin, counts, MPI_LONG, MPI_SUM, inter),
        (sent.origin, got.origin, large, MPI_LONG, MPI_SUM, inter));
  compare("Reduce_scatter", form);
  begin_longs(total);
  for (int i = 0; i < each * there; ++i) *expected_at(i) = sum_there(self * each * there + i);
  RUN(form, Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, sent.origin,
      got.origin, each * there, MPI_LONG, MPI_SUM, inter);
  compare("Reduce_scatter_block", form);
}

static void round_of(enum form form) {
  salt = all_draw(1000);
  RUN(form, Barrier, Ibarrier, Barrier_init, inter);
  broadcasts(form);
  gathers(form);
  scatters(form);
  all_gathers(form);
  exchanges(form);
  exchanges_w(form);
  reductions(form);
  scattered(form);
}

static void misuse(void) {
  long a = 1, b = 2;
  MUST_FAIL(MPI_ERR_COMM, MPI_Scan(&a, &b, 1, MPI_LONG, MPI_SUM, inter));
  MUST_FAIL(MPI_ERR_COMM, MPI_Exscan(&a, &b, 1, MPI_LONG, MPI_SUM, inter));
  MUST_FAIL(MPI_ERR_ROOT, MPI_Bcast(&a, 1, MPI_LONG, there, inter));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, &b, 1, MPI_LONG, MPI_SUM, inter));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 1, MPI_LONG, &b, 1, MPI_LONG, inter));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&a, 1, MPI_LONG, &b, 1, MPI_LONG, inter));
  MUST(MPI_Barrier(inter));
}

int main(int argc, char** argv) {
  open_world("test.intercollectives");
  if (size == 1) return close_world(); /* there is no second group */
  MPI_Comm local;
  side = rank % 2;
  MUST(MPI_Comm_split(world, side, rank, &local));
  MUST(MPI_Comm_rank(local, &self));
  MUST(MPI_Comm_size(local, &here));
  there = size - here;
  MUST(MPI_Intercomm_create(local, 0, world, 1 - side, 7, &inter));
  make_layouts();
  for_rounds(argc > 1 ? atoi(argv[1]) : 10, round_of);
  misuse();
  free_layouts();
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&local));
  return close_world();
}
