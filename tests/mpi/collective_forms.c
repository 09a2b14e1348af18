/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests each collective that moves data, in each form (blocking, non-blocking, persistent; counts
 * of int and of MPI_Count; in place), with random counts, roots, displacements and layouts. A model
 * writes the expected receive buffer; whole buffers are compared, so bytes between blocks must not
 * change. Argument: number of rounds. */
#include "model.h"

enum { MAX_PROCESSES = 16, MAX_ITEMS = 40 };

/* Counts and displacements by rank, in both sizes. */
struct blocks {
  int count[MAX_PROCESSES], start[MAX_PROCESSES];
  MPI_Count large_count[MAX_PROCESSES];
  MPI_Aint large_start[MAX_PROCESSES];
};
static struct blocks blocks_of(const int* counts, int unit) {
  struct blocks made;
  int at = own_draw(3);
  for (int r = 0; r < size; ++r) {
    made.large_count[r] = made.count[r] = counts[r];
    made.large_start[r] = made.start[r] = at * unit;
    at += counts[r] + own_draw(3);
  }
  return made;
}

static void broadcasts(enum form form) {
  int root = all_draw(size), count = all_draw(MAX_ITEMS);
  const struct layout* mine = &layouts[own_draw(layout_count)];
  begin();
  if (rank == root)
    for (int i = 0; i < count; ++i) put(&got, mine, i, root, i);
  expected = got;
  for (int i = 0; i < count; ++i) put(&expected, mine, i, root, i);
  RUN(form, Bcast, Ibcast, Bcast_init, got.origin, count, mine->type, root, world);
  compare("Bcast", form);
}

static void gathers(enum form form, int in_place) {
  int root = all_draw(size), count = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int i = 0; i < count; ++i) put(&sent, out, i, rank, i);
  if (in_place && rank == root)
    for (int i = 0; i < count; ++i) put(&got, in, rank * count + i, rank, i);
  expected = got;
  for (int r = 0; r < size && rank == root; ++r)
    for (int i = 0; i < count; ++i) put(&expected, in, r * count + i, r, i);
  const void* from = in_place && rank == root ? MPI_IN_PLACE : sent.origin;
  RUN(form, Gather, Igather, Gather_init, from, count, out->type, got.origin, count, in->type, root,
      world);
  compare("Gather", form);
}

static void scatters(enum form form, int in_place) {
  int root = all_draw(size), count = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int i = 0; i < size * count && rank == root; ++i) put(&sent, out, i, root, i);
  expected = got;
  in_place = in_place && rank == root;
  for (int i = 0; i < count && !in_place; ++i) put(&expected, in, i, root, rank * count + i);
  void* into = in_place ? MPI_IN_PLACE : got.origin;
  RUN(form, Scatter, Iscatter, Scatter_init, sent.origin, count, out->type, into, count, in->type,
      root, world);
  compare("Scatter", form);
}

static void gathers_v(enum form form, int in_place, int to_all) {
  int root = all_draw(size), counts[MAX_PROCESSES];
  for (int r = 0; r < size; ++r) counts[r] = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  struct blocks b = blocks_of(counts, 1);
  int receives = to_all || rank == root, count = counts[rank];
  in_place = in_place && receives;
  begin();
  for (int i = 0; i < count; ++i) put(&sent, out, i, rank, i);
  for (int i = 0; i < count && in_place; ++i) put(&got, in, b.start[rank] + i, rank, i);
  expected = got;
  for (int r = 0; r < size && receives; ++r)
    for (int i = 0; i < counts[r]; ++i) put(&expected, in, b.start[r] + i, r, i);
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  if (to_all)
    RUN_V(form, Allgatherv, Iallgatherv, Allgatherv_init,
          (from, count, out->type, got.origin, b.count, b.start, in->type, world),
          (from, count, out->type, got.origin, b.large_count, b.large_start, in->type, world));
  else
    RUN_V(
        form, Gatherv, Igatherv, Gatherv_init,
        (from, count, out->type, got.origin, b.count, b.start, in->type, root, world),
        (from, count, out->type, got.origin, b.large_count, b.large_start, in->type, root, world));
  compare(to_all ? "Allgatherv" : "Gatherv", form);
}

static void scatters_v(enum form form, int in_place) {
  int root = all_draw(size), counts[MAX_PROCESSES];
  for (int r = 0; r < size; ++r) counts[r] = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  struct blocks b = blocks_of(counts, 1);
  begin();
  for (int r = 0; r < size && rank == root; ++r)
    for (int i = 0; i < counts[r]; ++i) put(&sent, out, b.start[r] + i, root, 100 * r + i);
  expected = got;
  in_place = in_place && rank == root;
  for (int i = 0; i < counts[rank] && !in_place; ++i) put(&expected, in, i, root, 100 * rank + i);
  void* into = in_place ? MPI_IN_PLACE : got.origin;
  RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
        (sent.origin, b.count, b.start, out->type, into, counts[rank], in->type, root, world),
        (sent.origin, b.large_count, b.large_start, out->type, into, counts[rank], in->type, root,
         world));
  compare("Scatterv", form);
}

static void all_gathers(enum form form, int in_place) {
  int count = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int i = 0; i < count; ++i) put(&sent, out, i, rank, i);
  for (int i = 0; i < count && in_place; ++i) put(&got, in, rank * count + i, rank, i);
  expected = got;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) put(&expected, in, r * count + i, r, i);
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN(form, Allgather, Iallgather, Allgather_init, from, count, out->type, got.origin, count,
      in->type, world);
  compare("Allgather", form);
}

/* Item i that rank `from` has for rank `to`. */
static int item_for(int to, int i) { return 100 * to + i; }

static void exchanges(enum form form, int in_place) {
  int count = all_draw(MAX_ITEMS);
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  begin();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i)
      put(in_place ? &got : &sent, in_place ? in : out, r * count + i, rank, item_for(r, i));
  expected = got;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) put(&expected, in, r * count + i, r, item_for(rank, i));
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN(form, Alltoall, Ialltoall, Alltoall_init, from, count, out->type, got.origin, count, in->type,
      world);
  compare("Alltoall", form);
}

/* Number of items from one rank to another; in place, the reverse direction has as many. */
static int traffic[MAX_PROCESSES][MAX_PROCESSES];
static void draw_traffic(int symmetric) {
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to)
      traffic[from][to] = symmetric && to < from ? traffic[to][from] : all_draw(MAX_ITEMS);
}

static void exchanges_v(enum form form, int in_place) {
  int out_counts[MAX_PROCESSES], in_counts[MAX_PROCESSES];
  draw_traffic(in_place);
  for (int r = 0; r < size; ++r) out_counts[r] = traffic[rank][r], in_counts[r] = traffic[r][rank];
  const struct layout *out = &layouts[own_draw(layout_count)],
                      *in = &layouts[own_draw(layout_count)];
  struct blocks s = blocks_of(out_counts, 1), b = blocks_of(in_counts, 1);
  begin();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < out_counts[r]; ++i)
      if (in_place)
        put(&got, in, b.start[r] + i, rank, item_for(r, i));
      else
        put(&sent, out, s.start[r] + i, rank, item_for(r, i));
  expected = got;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < in_counts[r]; ++i) put(&expected, in, b.start[r] + i, r, item_for(rank, i));
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN_V(form, Alltoallv, Ialltoallv, Alltoallv_init,
        (from, s.count, s.start, out->type, got.origin, b.count, b.start, in->type, world),
        (from, s.large_count, s.large_start, out->type, got.origin, b.large_count, b.large_start,
         in->type, world));
  compare("Alltoallv", form);
}

/* A layout for each peer. */
static void exchanges_w(enum form form, int in_place) {
  int out_counts[MAX_PROCESSES], in_counts[MAX_PROCESSES];
  MPI_Datatype out_types[MAX_PROCESSES], in_types[MAX_PROCESSES];
  struct {
    int at[MAX_PROCESSES];
    MPI_Aint large[MAX_PROCESSES];
    MPI_Count count[MAX_PROCESSES];
  } s, b;
  draw_traffic(in_place);
  begin();
  expected = got;
  for (int r = 0; r < size; ++r) {
    const struct layout *out = &layouts[own_draw(layout_count)],
                        *in = &layouts[own_draw(layout_count)];
    int start = r * MAX_BLOCK + own_draw(3); /* in cells */
    s.count[r] = out_counts[r] = traffic[rank][r];
    b.count[r] = in_counts[r] = traffic[r][rank];
    out_types[r] = out->type;
    in_types[r] = in->type;
    s.large[r] = b.large[r] = s.at[r] = b.at[r] = start * (int)sizeof(long);
    for (int i = 0; i < out_counts[r]; ++i)
      if (in_place)
        put_from(&got, start, in, i, rank, item_for(r, i));
      else
        put_from(&sent, start, out, i, rank, item_for(r, i));
    for (int i = 0; i < in_counts[r]; ++i) put_from(&expected, start, in, i, r, item_for(rank, i));
  }
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN_V(form, Alltoallw, Ialltoallw, Alltoallw_init,
        (from, out_counts, s.at, out_types, got.origin, in_counts, b.at, in_types, world),
        (from, s.count, s.large, out_types, got.origin, b.count, b.large, in_types, world));
  compare("Alltoallw", form);
}

/* Several active persistent collectives, started repeatedly, by each process in another order
 * (MPI-4.1 §6.13). */
static void any_order_of_starts(void) {
  enum { REQUESTS = 4, STARTS = 5 };
  MPI_Request requests[REQUESTS], in_my_order[REQUESTS];
  long totals[REQUESTS], own[REQUESTS];
  int root = size - 1;
  for (int q = 0; q < REQUESTS; ++q)
    if (q % 2)
      MUST(MPI_Bcast_init(&totals[q], 1, MPI_LONG, root, world, MPI_INFO_NULL, &requests[q]));
    else
      MUST(MPI_Allreduce_init(&own[q], &totals[q], 1, MPI_LONG, MPI_SUM, world, MPI_INFO_NULL,
                              &requests[q]));
  for (int start = 0; start < STARTS; ++start) {
    for (int q = 0; q < REQUESTS; ++q) {
      own[q] = 10 * q + rank + start;
      totals[q] = rank == root ? 1000 * start + q : -1;
      in_my_order[q] = requests[(q + rank + start) % REQUESTS];
    }
    MUST(MPI_Startall(REQUESTS, in_my_order));
    MUST(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE));
    for (int q = 0; q < REQUESTS; ++q) {
      long wanted = q % 2 ? 1000 * start + q : (10L * q + start) * size + size * (size - 1) / 2;
      EXPECT(totals[q] == wanted, "start %d of request %d: received %ld, not %ld", start, q,
             totals[q], wanted);
    }
  }
  for (int q = 0; q < REQUESTS; ++q) MUST(MPI_Request_free(&requests[q]));
}

static void round_of(enum form form) {
  broadcasts(form);
  RUN(form, Barrier, Ibarrier, Barrier_init, world);
  for (int in_place = 0; in_place < 2; ++in_place) {
    gathers(form, in_place);
    scatters(form, in_place);
    gathers_v(form, in_place, 0);
    gathers_v(form, in_place, 1);
    scatters_v(form, in_place);
    all_gathers(form, in_place);
    exchanges(form, in_place);
    exchanges_v(form, in_place);
    exchanges_w(form, in_place);
  }
}

int main(int argc, char** argv) {
  open_world("test.collective_forms");
  make_layouts();
  for_rounds(argc > 1 ? atoi(argv[1]) : 20, round_of);
  any_order_of_starts();
  free_layouts();
  return close_world();
}
