/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests each blocking collective on a session communicator, with counts that select all algorithms,
 * against sums computed locally. */
#include "session_world.h"

static const int kCounts[] = {0, 1, 3, 17, 256, 2500, 40000};
enum { COUNTS = sizeof kCounts / sizeof kCounts[0] };

static long value(int from, int index) { return (long)from * 100003 + index * 7 + 1; }
static long sum_of(int first, int end, int index) {
  long sum = 0;
  for (int r = first; r < end; ++r) sum += value(r, index);
  return sum;
}

#define EXPECT_ALL(count, got, expected)                                                        \
  do {                                                                                          \
    int wrong = 0, first = -1;                                                                  \
    for (int i = 0; i < (count); ++i)                                                           \
      if ((got) != (expected) && wrong++ == 0) first = i;                                       \
    EXPECT(wrong == 0, "%s, count %d, root %d: %d wrong, first at %d", __func__, (count), root, \
           wrong, first);                                                                       \
  } while (0)

static void fill(long* data, int count, int from) {
  for (int i = 0; i < count; ++i) data[i] = value(from, i);
}

static void broadcast(long* a, int count, int root) {
  fill(a, count, rank == root ? root : 999);
  MUST(MPI_Bcast(a, count, MPI_LONG, root, world));
  EXPECT_ALL(count, a[i], value(root, i));
}

static void reduction(long* a, long* b, int count, int root, int in_place) {
  fill(a, count, rank);
  fill(b, count, rank);
  const void* send = in_place && rank == root ? MPI_IN_PLACE : a;
  MUST(MPI_Reduce(send, b, count, MPI_LONG, MPI_SUM, root, world));
  if (rank == root) EXPECT_ALL(count, b[i], sum_of(0, size, i));
}

static void all_reduction(long* a, long* b, int count, int in_place) {
  int root = -1;
  fill(a, count, rank);
  fill(b, count, rank);
  MUST(MPI_Allreduce(in_place ? MPI_IN_PLACE : a, b, count, MPI_LONG, MPI_SUM, world));
  EXPECT_ALL(count, b[i], sum_of(0, size, i));
  MUST(MPI_Allreduce(a, b, count, MPI_LONG, MPI_MAX, world));
  EXPECT_ALL(count, b[i], value(size - 1, i));
  double x = 1.0 / (rank + 3), total[2];
  MUST(MPI_Allreduce(&x, &total[0], 1, MPI_DOUBLE, MPI_SUM, world));
  MUST(MPI_Allreduce(&x, &total[1], 1, MPI_DOUBLE, MPI_SUM, world));
  EXPECT(memcmp(&total[0], &total[1], sizeof(double)) == 0,
         "the same call gave a different result");
}

static void prefix_sums(long* a, long* b, int count) {
  int root = -1;
  fill(a, count, rank);
  MUST(MPI_Scan(a, b, count, MPI_LONG, MPI_SUM, world));
  EXPECT_ALL(count, b[i], sum_of(0, rank + 1, i));
  fill(b, count, rank);
  MUST(MPI_Scan(MPI_IN_PLACE, b, count, MPI_LONG, MPI_SUM, world));
  EXPECT_ALL(count, b[i], sum_of(0, rank + 1, i));
  MUST(MPI_Exscan(a, b, count, MPI_LONG, MPI_SUM, world));
  if (rank > 0) EXPECT_ALL(count, b[i], sum_of(0, rank, i));
}

static void gathering(long* a, long* b, int count, int root) {
  fill(a, count, rank);
  memset(b, 0, (size_t)count * size * sizeof *b);
  MUST(MPI_Gather(a, count, MPI_LONG, b, count, MPI_LONG, root, world));
  for (int r = 0; r < size && rank == root; ++r) EXPECT_ALL(count, b[r * count + i], value(r, i));
  if (rank == root) fill(b + (size_t)root * count, count, rank);
  MUST(MPI_Gather(rank == root ? MPI_IN_PLACE : a, count, MPI_LONG, b, count, MPI_LONG, root,
                  world));
  for (int r = 0; r < size && rank == root; ++r) EXPECT_ALL(count, b[r * count + i], value(r, i));
  if (rank == root)
    for (int r = 0; r < size; ++r) fill(b + (size_t)r * count, count, r + 50);
  MUST(MPI_Scatter(b, count, MPI_LONG, a, count, MPI_LONG, root, world));
  EXPECT_ALL(count, a[i], value(rank + 50, i));
  if (rank == root)
    MUST(MPI_Scatter(b, count, MPI_LONG, MPI_IN_PLACE, count, MPI_LONG, root, world));
  else
    MUST(MPI_Scatter(NULL, 0, MPI_LONG, a, count, MPI_LONG, root, world));
  EXPECT_ALL(count, a[i], value(rank + 50, i));
}

/* Blocks of rank r: r + 1 times a fifth of count, with a gap of two between blocks. */
static void gathering_v(long* a, long* b, int base, int root) {
  int *counts = malloc(size * sizeof(int)), *starts = malloc(size * sizeof(int)), at = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = base / 5 * (r + 1) / size;
    starts[r] = at;
    at += counts[r] + 2;
  }
  int count = counts[rank];
  fill(a, count, rank);
  MUST(MPI_Gatherv(a, count, MPI_LONG, b, counts, starts, MPI_LONG, root, world));
  for (int r = 0; r < size && rank == root; ++r)
    EXPECT_ALL(counts[r], b[starts[r] + i], value(r, i));
  MUST(MPI_Allgatherv(a, count, MPI_LONG, b, counts, starts, MPI_LONG, world));
  for (int r = 0; r < size; ++r) EXPECT_ALL(counts[r], b[starts[r] + i], value(r, i));
  memset(a, 0, count * sizeof *a);
  MUST(MPI_Scatterv(b, counts, starts, MPI_LONG, a, count, MPI_LONG, root, world));
  EXPECT_ALL(count, a[i], value(rank, i));
  free(counts);
  free(starts);
}

static void all_gathering(long* a, long* b, int count) {
  int root = -1;
  fill(a, count, rank);
  MUST(MPI_Allgather(a, count, MPI_LONG, b, count, MPI_LONG, world));
  for (int r = 0; r < size; ++r) EXPECT_ALL(count, b[r * count + i], value(r, i));
  memset(b, 0, (size_t)count * size * sizeof *b);
  fill(b + (size_t)rank * count, count, rank);
  MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, count, MPI_LONG, world));
  for (int r = 0; r < size; ++r) EXPECT_ALL(count, b[r * count + i], value(r, i));
}

static void everybody(long* a, long* b, int count) {
  int root = -1;
  for (int r = 0; r < size; ++r) fill(a + (size_t)r * count, count, rank * 64 + r);
  MUST(MPI_Alltoall(a, count, MPI_LONG, b, count, MPI_LONG, world));
  for (int r = 0; r < size; ++r) EXPECT_ALL(count, b[r * count + i], value(r * 64 + rank, i));
  MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, count, MPI_LONG, world));
  for (int r = 0; r < size; ++r) EXPECT_ALL(count, a[r * count + i], value(r * 64 + rank, i));
}

/* Rank r sends (r + p) % 3 fifths of count to rank p. */
static void everybody_v(long* a, long* b, int base) {
  int root = -1, *s = malloc(4 * (size_t)size * sizeof(int)), *sd = s + size, *r = sd + size,
      *rd = r + size, sat = 0, rat = 0;
  for (int p = 0; p < size; ++p) {
    s[p] = r[p] = base / 5 * ((rank + p) % 3);
    sd[p] = sat;
    rd[p] = rat;
    fill(a + sat, s[p], rank * 64 + p);
    sat += s[p];
    rat += r[p];
  }
  MUST(MPI_Alltoallv(a, s, sd, MPI_LONG, b, r, rd, MPI_LONG, world));
  for (int p = 0; p < size; ++p) EXPECT_ALL(r[p], b[rd[p] + i], value(p * 64 + rank, i));
  free(s);
}

static void scattered_sums(long* a, long* b, int count) {
  int root = -1, *counts = malloc(size * sizeof(int)), start = 0, total = 0;
  for (int p = 0; p < size; ++p) {
    counts[p] = count * (p % 3) / 2;
    if (p < rank) start += counts[p];
    total += counts[p];
  }
  fill(a, total, rank);
  MUST(MPI_Reduce_scatter(a, b, counts, MPI_LONG, MPI_SUM, world));
  EXPECT_ALL(counts[rank], b[i], sum_of(0, size, start + i));
  fill(a, count * size, rank);
  MUST(MPI_Reduce_scatter_block(a, b, count, MPI_LONG, MPI_SUM, world));
  EXPECT_ALL(count, b[i], sum_of(0, size, rank * count + i));
  free(counts);
}

/* One element of each type with all operations that it allows. */
static void operations(void) {
  struct {
    double value;
    int index;
  } pair = {(rank * 7) % 5, rank}, best;
  MUST(MPI_Allreduce(&pair, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, world));
  int expected = 0;
  for (int r = 0; r < size; ++r)
    if ((r * 7) % 5 > (expected * 7) % 5) expected = r;
  EXPECT(best.index == expected && best.value == (expected * 7) % 5, "MAXLOC returns %g at %d",
         best.value, best.index);
  int flag = rank % 2, any, all, bits = 1 << rank % 30, or_bits, one_bits;
  MUST(MPI_Allreduce(&flag, &any, 1, MPI_INT, MPI_LOR, world));
  MUST(MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_LAND, world));
  EXPECT(any == (size > 1) && all == 0, "LOR %d LAND %d", any, all);
  MUST(MPI_Allreduce(&bits, &or_bits, 1, MPI_INT, MPI_BOR, world));
  EXPECT(or_bits == (int)((1u << (size < 30 ? size : 30)) - 1), "BOR %x", or_bits);
  MUST(MPI_Allreduce(&bits, &one_bits, 1, MPI_INT, MPI_BXOR, world));
  float f = rank + 0.5f, product;
  MUST(MPI_Allreduce(&f, &product, 1, MPI_FLOAT, MPI_PROD, world));
  unsigned char small = (unsigned char)(200 + rank), least;
  MUST(MPI_Allreduce(&small, &least, 1, MPI_UNSIGNED_CHAR, MPI_MIN, world));
  EXPECT(least == 200, "MIN of unsigned char is %d", least);
  int x = 3, y = 4;
  MUST(MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_SUM));
  EXPECT(y == 7, "Reduce_local gives %d", y);
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(&f, &product, 1, MPI_FLOAT, MPI_BAND, world));
}

int main(void) {
  open_world("test.collectives");
  size_t cells = (size_t)kCounts[COUNTS - 1] * (size + 1);
  long *a = malloc(cells * sizeof *a), *b = malloc(cells * sizeof *b);
  for (int c = 0; c < COUNTS; ++c) {
    int count = kCounts[c];
    for (int root = 0; root < size; root += 1 + size / 4) {
      broadcast(a, count, root);
      reduction(a, b, count, root, 0);
      reduction(a, b, count, root, 1);
      gathering(a, b, count, root);
      gathering_v(a, b, count, root);
    }
    all_reduction(a, b, count, 0);
    all_reduction(a, b, count, 1);
    prefix_sums(a, b, count);
    all_gathering(a, b, count);
    everybody(a, b, count);
    everybody_v(a, b, count);
    scattered_sums(a, b, count);
    MUST(MPI_Barrier(world));
  }
  operations();
  free(a);
  free(b);
  return close_world();
}
