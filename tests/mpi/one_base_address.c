/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests collectives whose two buffers have the same base address and types that cover different
 * bytes (MPI-4.1 §6.2, §5.1.5): two fields of an array of structures, and absolute types on
 * MPI_BOTTOM. Buffers that share a byte are refused. */
#include <stddef.h>

#include "forms.h"

enum { MAX_RANKS = 8 };

struct pair {
  int sent, received;
};
static struct pair pairs[MAX_RANKS];

/* Base address and types of the two fields in a collective. */
struct fields {
  void* base;
  MPI_Datatype sent, received;
};

static MPI_Datatype one_int_at(MPI_Aint displacement) {
  int one = 1;
  MPI_Datatype type = MPI_INT, field, made;
  MUST(MPI_Type_create_struct(1, &one, &displacement, &type, &field));
  MUST(MPI_Type_create_resized(field, 0, sizeof(struct pair), &made));
  MUST(MPI_Type_commit(&made));
  MUST(MPI_Type_free(&field));
  return made;
}

static struct fields relative(void) {
  struct fields made = {pairs, one_int_at(offsetof(struct pair, sent)),
                        one_int_at(offsetof(struct pair, received))};
  return made;
}
static struct fields absolute(void) {
  MPI_Aint sent, received;
  MUST(MPI_Get_address(&pairs[0].sent, &sent));
  MUST(MPI_Get_address(&pairs[0].received, &received));
  struct fields made = {MPI_BOTTOM, one_int_at(sent), one_int_at(received)};
  return made;
}
static void free_fields(struct fields* f) {
  MUST(MPI_Type_free(&f->sent));
  MUST(MPI_Type_free(&f->received));
}

static int value_of(int from, int i) { return 100 * from + i; }
static void fill(void) {
  for (int i = 0; i < MAX_RANKS; ++i) {
    pairs[i].sent = value_of(rank, i);
    pairs[i].received = -1;
  }
}
/* Check that `count` values have arrived, of which number i is value_of(from(i), item(i)), and that
 * no other byte was written. */
static void check(const char* what, enum form form, int count, int first_from, int from_step,
                  int first_item, int item_step) {
  for (int i = 0; i < MAX_RANKS; ++i) {
    int expected = i < count ? value_of(first_from + i * from_step, first_item + i * item_step)
                             : -1;
    EXPECT(pairs[i].received == expected, "%s, %s: item %d is %d, not %d", what, form_names[form],
           i, pairs[i].received, expected);
    EXPECT(pairs[i].sent == value_of(rank, i), "%s, %s: sent item %d has changed", what,
           form_names[form], i);
  }
}

static void exchange_fields(const struct fields* f, enum form form) {
  int ones[MAX_RANKS], items[MAX_RANKS], zeros[MAX_RANKS] = {0}, root = size - 1,
                                         is_root = rank == root;
  int byte_offsets[MAX_RANKS];
  MPI_Count large_ones[MAX_RANKS];
  MPI_Aint large_items[MAX_RANKS], large_zeros[MAX_RANKS] = {0}, large_offsets[MAX_RANKS];
  MPI_Datatype sent[MAX_RANKS], received[MAX_RANKS];
  for (int i = 0; i < size; ++i) {
    large_ones[i] = ones[i] = 1;
    large_items[i] = items[i] = i;
    large_offsets[i] = byte_offsets[i] = i * (int)sizeof(struct pair);
    sent[i] = f->sent;
    received[i] = f->received;
  }
  fill();
  RUN(form, Alltoall, Ialltoall, Alltoall_init, f->base, 1, f->sent, f->base, 1, f->received,
      world);
  check("Alltoall", form, size, 0, 1, rank, 0);
  fill();
  RUN_V(form, Alltoallv, Ialltoallv, Alltoallv_init,
        (f->base, ones, items, f->sent, f->base, ones, items, f->received, world),
        (f->base, large_ones, large_items, f->sent, f->base, large_ones, large_items, f->received,
         world));
  check("Alltoallv", form, size, 0, 1, rank, 0);
  fill();
  RUN_V(form, Alltoallw, Ialltoallw, Alltoallw_init,
        (f->base, ones, byte_offsets, sent, f->base, ones, byte_offsets, received, world),
        (f->base, large_ones, large_offsets, sent, f->base, large_ones, large_offsets, received,
         world));
  check("Alltoallw", form, size, 0, 1, rank, 0);
  fill();
  RUN(form, Allgather, Iallgather, Allgather_init, f->base, 1, f->sent, f->base, 1, f->received,
      world);
  check("Allgather", form, size, 0, 1, 0, 0);
  fill();
  RUN_V(form, Allgatherv, Iallgatherv, Allgatherv_init,
        (f->base, 1, f->sent, f->base, ones, items, f->received, world),
        (f->base, 1, f->sent, f->base, large_ones, large_items, f->received, world));
  check("Allgatherv", form, size, 0, 1, 0, 0);
  fill();
  RUN(form, Gather, Igather, Gather_init, f->base, 1, f->sent, f->base, 1, f->received, root,
      world);
  check("Gather", form, is_root ? size : 0, 0, 1, 0, 0);
  fill();
  RUN_V(form, Gatherv, Igatherv, Gatherv_init,
        (f->base, 1, f->sent, f->base, ones, items, f->received, root, world),
        (f->base, 1, f->sent, f->base, large_ones, large_items, f->received, root, world));
  check("Gatherv", form, is_root ? size : 0, 0, 1, 0, 0);
  fill();
  RUN(form, Scatter, Iscatter, Scatter_init, f->base, 1, f->sent, f->base, 1, f->received, root,
      world);
  check("Scatter", form, 1, root, 0, rank, 0);
  fill();
  RUN_V(form, Scatterv, Iscatterv, Scatterv_init,
        (f->base, ones, zeros, f->sent, f->base, 1, f->received, root, world),
        (f->base, large_ones, large_zeros, f->sent, f->base, 1, f->received, root, world));
  check("Scatterv", form, 1, root, 0, 0, 0);
}

/* The same bytes: with one type, with types of the same start, and with a type that covers the
 * other. */
static void same_bytes_are_refused(void) {
  struct fields relative_fields = relative(), absolute_fields = absolute();
  MPI_Datatype sent = relative_fields.sent;
  fill();
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(pairs, 1, sent, pairs, 1, sent, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(pairs, 1, sent, pairs, 1, MPI_INT, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(pairs, 1, MPI_INT, pairs, 1, MPI_INT, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(MPI_BOTTOM, 1, absolute_fields.sent, MPI_BOTTOM, 1,
                                         absolute_fields.sent, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Allgather(&pairs[rank], 1, sent, pairs, 1, sent, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Allreduce(pairs, pairs, 1, MPI_INT, MPI_SUM, world));
  free_fields(&relative_fields);
  free_fields(&absolute_fields);
}

/* Buffers without data may have the same address. */
static void no_bytes_may_be_shared(void) {
  MPI_Datatype nothing;
  MUST(MPI_Type_contiguous(0, MPI_INT, &nothing));
  MUST(MPI_Type_commit(&nothing));
  MUST(MPI_Alltoall(pairs, 0, MPI_INT, pairs, 0, MPI_INT, world));
  MUST(MPI_Alltoall(pairs, 3, nothing, pairs, 3, nothing, world));
  MUST(MPI_Allreduce(pairs, pairs, 0, MPI_INT, MPI_SUM, world));
  MUST(MPI_Type_free(&nothing));
}

/* MPI_BOTTOM as base address, with absolute displacements. */
static void displacements_may_be_addresses(void) {
  MPI_Count ones[MAX_RANKS];
  MPI_Aint places[MAX_RANKS];
  int own = 7 * rank, gathered[MAX_RANKS];
  for (int i = 0; i < size; ++i) {
    ones[i] = sizeof(int);
    MUST(MPI_Get_address(&gathered[i], &places[i]));
  }
  MUST(MPI_Allgatherv_c(&own, sizeof own, MPI_BYTE, MPI_BOTTOM, ones, places, MPI_BYTE, world));
  for (int i = 0; i < size; ++i) EXPECT(gathered[i] == 7 * i, "item %d is %d", i, gathered[i]);
}

int main(void) {
  open_world("one base address");
  for (enum form form = BLOCKING; form < FORMS; ++form) {
    struct fields fields[2] = {relative(), absolute()};
    for (int i = 0; i < 2; ++i) {
      exchange_fields(&fields[i], form);
      free_fields(&fields[i]);
    }
  }
  same_bytes_are_refused();
  no_bytes_may_be_shared();
  displacements_may_be_addresses();
  return close_world();
}
