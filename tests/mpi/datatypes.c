/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests random derived datatypes against a list of the offsets of their elements: bounds, sizes,
 * pack, unpack, messages, envelopes and contents.
 *
 *   datatypes none     types of Intersession on a session communicator, without MPI_Init
 *   datatypes world    types made before MPI_Init, on communicators of both models, and types made
 *                      between MPI_Init and MPI_Finalize
 *   datatypes after    as none, after MPI_Init and MPI_Finalize */
#include "session_world.h"

#include <stddef.h>

/* MPI_Get_elements of MPICH 4.0.2 ends in a floating point exception for some native types, and
 * returns wrong counts for others. */
#ifdef OPEN_MPI
enum { COUNTS_ELEMENTS = 1 };
#else
enum { COUNTS_ELEMENTS = 0 };
#endif
static int are_ours = 1; /* types that were made while MPI was not initialised */

enum { MOST = 4000, ROOM = 1 << 19, ITEMS = 3, DEPTH = 3 };

/* A type and its type map, in type map order. */
typedef struct {
  MPI_Datatype handle;
  int elements;
  MPI_Aint at[MOST];
  int bytes[MOST];
} Mapped;

static unsigned seed;
static int below(int bound) {
  seed = seed * 1103515245u + 12345u;
  return (int)((seed >> 16) % (unsigned)bound);
}

static void add(Mapped* to, const Mapped* old, MPI_Aint by) {
  EXPECT(to->elements + old->elements <= MOST, "the type has too many elements for this test");
  if (to->elements + old->elements > MOST) exit(1);
  for (int i = 0; i < old->elements; ++i, ++to->elements) {
    to->at[to->elements] = old->at[i] + by;
    to->bytes[to->elements] = old->bytes[i];
  }
}

static void add_block(Mapped* to, const Mapped* old, MPI_Aint by, int length) {
  MPI_Aint lower, extent;
  MUST(MPI_Type_get_extent(old->handle, &lower, &extent));
  for (int i = 0; i < length; ++i) add(to, old, by + i * extent);
}

static void predefined(Mapped* to) {
  static const struct {
    MPI_Datatype handle;
    int bytes;
  } * row, rows[] = {{MPI_CHAR, 1},   {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_FLOAT, 4},
                     {MPI_DOUBLE, 8}, {MPI_LONG, 8},  {MPI_BYTE, 1}};
  row = &rows[below(sizeof rows / sizeof rows[0])];
  to->handle = row->handle;
  to->elements = 1;
  to->at[0] = 0;
  to->bytes[0] = row->bytes;
}

static void forget(Mapped* mapped) {
  int integers, addresses, datatypes, combiner;
  MUST(MPI_Type_get_envelope(mapped->handle, &integers, &addresses, &datatypes, &combiner));
  if (combiner != MPI_COMBINER_NAMED) MUST(MPI_Type_free(&mapped->handle));
}

static void make(Mapped* to, int depth);

/* Disjoint blocks of one old type: each begins some distance after the end of the last. */
static void make_blocks(Mapped* to, Mapped* old, int which) {
  MPI_Aint lower, extent, displacements[4], next = 0;
  int count = 1 + below(3), length = 1 + below(3), lengths[4], items[4];
  MUST(MPI_Type_get_extent(old->handle, &lower, &extent));
  for (int i = 0; i < count; ++i) {
    int in_items = which == 2 || which == 4; /* displacements in items of the old type */
    lengths[i] = which >= 4 ? length : 1 + below(3);
    next += in_items ? extent * below(3) : below(40);
    displacements[i] = next;
    items[i] = extent != 0 ? (int)(next / extent) : 0;
    next += lengths[i] * extent;
    add_block(to, old, displacements[i], lengths[i]);
  }
  if (which == 2) MUST(MPI_Type_indexed(count, lengths, items, old->handle, &to->handle));
  if (which == 3)
    MUST(MPI_Type_create_hindexed(count, lengths, displacements, old->handle, &to->handle));
  if (which == 4)
    MUST(MPI_Type_create_indexed_block(count, length, items, old->handle, &to->handle));
  if (which == 5)
    MUST(MPI_Type_create_hindexed_block(count, length, displacements, old->handle, &to->handle));
}

static void make_vector(Mapped* to, Mapped* old, int which) {
  MPI_Aint lower, extent;
  int count = 1 + below(3), length = 1 + below(3), gap = below(3), sign = below(2) ? 1 : -1;
  MUST(MPI_Type_get_extent(old->handle, &lower, &extent));
  MPI_Aint stride = sign * (length + gap) * extent;
  for (int i = 0; i < count; ++i) add_block(to, old, i * stride, length);
  if (which == 0)
    MUST(MPI_Type_vector(count, length, sign * (length + gap), old->handle, &to->handle));
  if (which == 1) MUST(MPI_Type_create_hvector(count, length, stride, old->handle, &to->handle));
}

static void make_structure(Mapped* to) {
  MPI_Aint next = 0, displacements[3];
  MPI_Datatype handles[3];
  Mapped* olds = malloc(3 * sizeof *olds);
  int lengths[3], count = 1 + below(3);
  for (int i = 0; i < count; ++i) {
    MPI_Aint lower, extent;
    olds[i].elements = 0;
    make(&olds[i], 1);
    MUST(MPI_Type_get_extent(olds[i].handle, &lower, &extent));
    handles[i] = olds[i].handle;
    lengths[i] = 1 + below(2);
    displacements[i] = next - lower;
    next += lengths[i] * extent + below(20);
    add_block(to, &olds[i], displacements[i], lengths[i]);
  }
  MUST(MPI_Type_create_struct(count, lengths, displacements, handles, &to->handle));
  for (int i = 0; i < count; ++i) forget(&olds[i]);
  free(olds);
}

static void make_subarray(Mapped* to, Mapped* old) {
  MPI_Aint lower, extent;
  int sizes[2] = {3, 4}, parts[2] = {1 + below(3), 1 + below(4)},
      order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  int starts[2] = {below(3 - parts[0] + 1), below(4 - parts[1] + 1)},
      slow = order == MPI_ORDER_C ? 0 : 1, fast = 1 - slow;
  MUST(MPI_Type_get_extent(old->handle, &lower, &extent));
  for (int i = 0; i < parts[slow]; ++i)
    add_block(to, old, ((starts[slow] + i) * sizes[fast] + starts[fast]) * extent, parts[fast]);
  MUST(MPI_Type_create_subarray(2, sizes, parts, starts, order, old->handle, &to->handle));
}

/* False if an element lies outside the bounds that another part of the structure has set: items of
 * such a type would overlap. */
static int is_within_bounds(MPI_Datatype type) {
  MPI_Aint lower, extent, true_lower, true_extent;
  MUST(MPI_Type_get_extent(type, &lower, &extent));
  MUST(MPI_Type_get_true_extent(type, &true_lower, &true_extent));
  return true_lower >= lower && true_lower + true_extent <= lower + extent;
}

static void make_any(Mapped* to, int depth);
static void make(Mapped* to, int depth) {
  make_any(to, depth);
  while (!is_within_bounds(to->handle)) {
    forget(to);
    make_any(to, depth);
  }
}

static void make_any(Mapped* to, int depth) {
  to->elements = 0;
  if (depth == 0) {
    predefined(to);
    return;
  }
  Mapped* old = malloc(sizeof *old);
  make(old, depth - 1);
  int which = below(old->elements > 60 ? 1 : 9);
  if (which < 2)
    make_vector(to, old, which);
  else if (which < 6)
    make_blocks(to, old, which);
  else if (which == 6)
    make_subarray(to, old);
  else if (which == 7)
    make_structure(to);
  else {
    MPI_Aint lower, extent;
    MUST(MPI_Type_get_true_extent(old->handle, &lower, &extent));
    add(to, old, 0);
    MUST(
        MPI_Type_create_resized(old->handle, lower - below(9), extent + 8 + below(9), &to->handle));
  }
  forget(old); /* the new type keeps what it needs */
  free(old);
}

/* Gather the elements of ITEMS items in type map order. */
static int gather_by_map(const Mapped* type, const char* items, char* stream) {
  MPI_Aint lower, extent;
  int bytes = 0;
  MUST(MPI_Type_get_extent(type->handle, &lower, &extent));
  for (int item = 0; item < ITEMS; ++item)
    for (int i = 0; i < type->elements; bytes += type->bytes[i++])
      memcpy(stream + bytes, items + item * extent + type->at[i], (size_t)type->bytes[i]);
  return bytes;
}

static void check_bounds(const Mapped* type) {
  MPI_Aint lower, extent, least = 0, most = 0;
  int bytes = 0, size_of_type;
  for (int i = 0; i < type->elements; ++i) {
    if (i == 0 || type->at[i] < least) least = type->at[i];
    if (i == 0 || type->at[i] + type->bytes[i] > most) most = type->at[i] + type->bytes[i];
    bytes += type->bytes[i];
  }
  MUST(MPI_Type_get_true_extent(type->handle, &lower, &extent));
  EXPECT(lower == least && extent == most - least, "true bounds %ld and %ld, not %ld and %ld",
         (long)lower, (long)extent, (long)least, (long)(most - least));
  MPI_Aint set_lower, set_extent;
  MUST(MPI_Type_get_extent(type->handle, &set_lower, &set_extent));
  EXPECT(least > -ROOM / 2 && most + ITEMS * set_extent < ROOM / 2,
         "the items do not fit into the test's buffer");
  MUST(MPI_Type_size(type->handle, &size_of_type));
  EXPECT(size_of_type == bytes, "size %d, not %d", size_of_type, bytes);
}

/* Return an equal type, made from MPI_Type_get_envelope and MPI_Type_get_contents. */
static MPI_Datatype made_again(MPI_Datatype type) {
  int ni, na, nd, combiner, integers[64];
  MPI_Aint addresses[64];
  MPI_Datatype olds[8], again = MPI_DATATYPE_NULL;
  MUST(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
  MUST(MPI_Type_get_contents(type, ni, na, nd, integers, addresses,
                             olds)); /* Open MPI 4.1 accesses as many entries as the maxima */
  int n = integers[0], *i = integers;
  if (combiner == MPI_COMBINER_VECTOR) MUST(MPI_Type_vector(n, i[1], i[2], olds[0], &again));
  if (combiner == MPI_COMBINER_HVECTOR)
    MUST(MPI_Type_create_hvector(n, i[1], addresses[0], olds[0], &again));
  if (combiner == MPI_COMBINER_INDEXED)
    MUST(MPI_Type_indexed(n, i + 1, i + 1 + n, olds[0], &again));
  if (combiner == MPI_COMBINER_HINDEXED)
    MUST(MPI_Type_create_hindexed(n, i + 1, addresses, olds[0], &again));
  if (combiner == MPI_COMBINER_INDEXED_BLOCK)
    MUST(MPI_Type_create_indexed_block(n, i[1], i + 2, olds[0], &again));
  if (combiner == MPI_COMBINER_HINDEXED_BLOCK)
    MUST(MPI_Type_create_hindexed_block(n, i[1], addresses, olds[0], &again));
  if (combiner == MPI_COMBINER_STRUCT)
    MUST(MPI_Type_create_struct(n, i + 1, addresses, olds, &again));
  if (combiner == MPI_COMBINER_SUBARRAY)
    MUST(MPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n, i[1 + 3 * n], olds[0],
                                  &again));
  if (combiner == MPI_COMBINER_RESIZED)
    MUST(MPI_Type_create_resized(olds[0], addresses[0], addresses[1], &again));
  EXPECT(again != MPI_DATATYPE_NULL, "combiner %d", combiner);
  for (int k = 0, types_inside = nd; k < types_inside; ++k) {
    MUST(MPI_Type_get_envelope(olds[k], &ni, &na, &nd, &combiner));
    if (combiner != MPI_COMBINER_NAMED) MUST(MPI_Type_free(&olds[k]));
  }
  return again;
}

static char memory[ROOM], other[ROOM], stream[ROOM], expected[ROOM];

static void fill(char* bytes, int how) {
  for (int i = 0; i < ROOM; ++i) bytes[i] = (char)(how ? (i * 7 + i / 256) : -1);
}

/* Send to oneself on `comm`: typed to bytes, bytes to typed (of an equal type), typed to typed,
 * packed and unpacked. */
static void check_moves(const Mapped* type, MPI_Datatype again, MPI_Comm comm) {
  char *items = memory + ROOM / 2, *landed = other + ROOM / 2;
  int me, position = 0, count;
  MPI_Status status;
  MPI_Request request;
  MUST(MPI_Comm_rank(comm, &me));
  fill(memory, 1);
  int bytes = gather_by_map(type, items, expected);
  EXPECT(bytes < ROOM, "%d bytes", bytes);

  MUST(MPI_Pack(items, ITEMS, type->handle, stream, ROOM, &position, comm));
  EXPECT(position >= bytes, "packed %d of %d", position, bytes);

  MUST(MPI_Irecv(stream, ROOM, MPI_BYTE, me, 1, comm, &request));
  MUST(MPI_Send(items, ITEMS, type->handle, me, 1, comm));
  MUST(MPI_Wait(&request, &status));
  EXPECT(memcmp(stream, expected, (size_t)bytes) == 0, "sent bytes are not those of the map");
  MUST(MPI_Get_count(&status, type->handle, &count));
  EXPECT(count == ITEMS, "count %d", count);
  if (are_ours || COUNTS_ELEMENTS) {
    MUST(MPI_Get_elements(&status, type->handle, &count));
    EXPECT(count == ITEMS * type->elements, "elements %d, not %d", count, ITEMS * type->elements);
  }

  for (int typed = 0; typed < 2; ++typed) {
    fill(other, 0);
    MUST(MPI_Irecv(landed, ITEMS, again, me, 2, comm, &request));
    if (typed)
      MUST(MPI_Send(items, ITEMS, type->handle, me, 2, comm));
    else
      MUST(MPI_Send(expected, bytes, MPI_BYTE, me, 2, comm));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    gather_by_map(type, landed, stream);
    EXPECT(memcmp(stream, expected, (size_t)bytes) == 0, "received items are not those sent");
  }
  fill(stream, 0);
  position = 0;
  MUST(MPI_Pack(items, ITEMS, type->handle, stream, ROOM, &position, comm));
  fill(other, 0);
  position = 0;
  MUST(MPI_Unpack(stream, ROOM, &position, landed, ITEMS, again, comm));
  gather_by_map(type, landed, stream);
  EXPECT(memcmp(stream, expected, (size_t)bytes) == 0, "unpacked items are not those packed");
}

/* Receives do not write to holes: bytes outside the type map do not change. */
static void check_holes(const Mapped* type, MPI_Comm comm) {
  char* landed = other + ROOM / 2;
  int me, bytes = gather_by_map(type, memory + ROOM / 2, expected);
  MPI_Aint lower, extent;
  MPI_Request request;
  MUST(MPI_Comm_rank(comm, &me));
  MUST(MPI_Type_get_extent(type->handle, &lower, &extent));
  fill(other, 0);
  MUST(MPI_Irecv(landed, ITEMS, type->handle, me, 3, comm, &request));
  memset(expected, 0, (size_t)bytes);
  MUST(MPI_Send(expected, bytes, MPI_BYTE, me, 3, comm));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int item = 0; item < ITEMS; ++item)
    for (int i = 0; i < type->elements; ++i)
      memset(landed + item * extent + type->at[i], -1, (size_t)type->bytes[i]);
  for (int i = 0; i < ROOM; ++i)
    if (other[i] != -1) {
      EXPECT(0, "byte %d was written", i - ROOM / 2);
      break;
    }
}

static void external(const Mapped* type) {
  MPI_Aint bytes, position = 0;
  char *items = memory + ROOM / 2, *landed = other + ROOM / 2;
  memset(memory, 0, ROOM); /* values that fit into every type */
  MPI_Aint lower, extent;
  MUST(MPI_Type_get_extent(type->handle, &lower, &extent));
  for (int item = 0; item < ITEMS; ++item)
    for (int i = 0; i < type->elements; ++i) items[item * extent + type->at[i]] = (char)(i % 100);
  MUST(MPI_Pack_external_size("external32", ITEMS, type->handle, &bytes));
  MUST(MPI_Pack_external("external32", items, ITEMS, type->handle, stream, bytes, &position));
  EXPECT(position == bytes, "packed %ld of %ld", (long)position, (long)bytes);
  fill(other, 0);
  position = 0;
  MUST(MPI_Unpack_external("external32", stream, bytes, &position, landed, ITEMS, type->handle));
  int count = gather_by_map(type, items, expected);
  gather_by_map(type, landed, stream);
  EXPECT(memcmp(stream, expected, (size_t)count) == 0, "external32 does not restore the items");
}

static Mapped types[40];
enum { TYPES = sizeof types / sizeof types[0] };

static void make_types(unsigned first_seed) {
  for (int i = 0; i < TYPES; ++i) {
    seed = first_seed + (unsigned)i;
    make(&types[i], 1 + i % DEPTH);
    MUST(MPI_Type_commit(&types[i].handle));
    check_bounds(&types[i]);
  }
}

static void check_on(MPI_Comm comm) {
  for (int i = 0; i < TYPES; ++i) {
    MPI_Datatype again = made_again(types[i].handle);
    MUST(MPI_Type_commit(&again));
    check_moves(&types[i], again, comm);
    check_holes(&types[i], comm);
    MUST(MPI_Type_free(&again));
  }
}

static void free_types(void) {
  for (int i = 0; i < TYPES; ++i) MUST(MPI_Type_free(&types[i].handle));
}

/* Free types while messages use them, in both directions, around a ring; the messages are long
 * enough for rendezvous. */
static void freed_in_use(void) {
  enum { COUNT = 300000 };
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int *out = malloc(2 * COUNT * sizeof *out), *in = malloc(2 * COUNT * sizeof *in);
  MPI_Datatype every_other;
  MPI_Request requests[2];
  for (int i = 0; i < 2 * COUNT; ++i) {
    out[i] = i + rank;
    in[i] = -1;
  }
  MUST(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_other));
  MUST(MPI_Type_commit(&every_other));
  MUST(MPI_Irecv(in, 1, every_other, before, 4, world, &requests[0]));
  MUST(MPI_Isend(out, 1, every_other, next, 4, world, &requests[1]));
  MUST(MPI_Type_free(&every_other));
  EXPECT(every_other == MPI_DATATYPE_NULL, "the handle is not null");
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * COUNT; ++i)
    if (in[i] != (i % 2 ? -1 : i + before)) {
      EXPECT(0, "item %d is %d", i, in[i]);
      break;
    }
  free(out);
  free(in);
}

static void wrong_arguments(void) {
  int one = 1, minus = -1, value = 0, position = 0, zero = 0;
  MPI_Aint place = 0;
  MPI_Datatype made, null = MPI_DATATYPE_NULL, predefined_type = MPI_INT;
  MUST_FAIL(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_contiguous(1, null, &made));
  MUST_FAIL(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
  MUST_FAIL(MPI_ERR_ARG, MPI_Type_vector(1, -1, 1, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_ARG, MPI_Type_indexed(1, &minus, &zero, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_ARG, MPI_Type_indexed(1, NULL, &zero, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_create_struct(1, &one, &place, &null, &made));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Type_create_subarray(1, &one, &one, &one, MPI_ORDER_C, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_ARG, MPI_Type_create_subarray(1, &one, &one, &zero, 12345, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Type_create_subarray(0, &one, &one, &zero, MPI_ORDER_C, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_free(&predefined_type));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_free(&null));
  MUST(MPI_Type_contiguous(2, MPI_INT, &made));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Send(&value, 1, made, MPI_PROC_NULL, 0, world));
  MUST(MPI_Type_commit(&made));
  MUST_FAIL(MPI_ERR_TRUNCATE, MPI_Pack(&value, 1, MPI_INT, &value, 3, &position, world));
  MUST_FAIL(MPI_ERR_ARG, MPI_Pack_external("internal", &value, 1, MPI_INT, &value, 4, &place));
  MPI_Datatype stale = made;
  MUST(MPI_Type_free(&made));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Send(&value, 1, stale, MPI_PROC_NULL, 0, world));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_free(&stale));
}

/* Queries of sizes do not communicate: the datatype need not be committed (MPI-4.1 §5.1.9). */
static void not_committed(void) {
  MPI_Datatype pair;
  MPI_Status status;
  MPI_Aint external_bytes;
  int bytes, count, values[2] = {rank, size};
  MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
  MUST(MPI_Pack_size(3, pair, world, &bytes));
  EXPECT(bytes == 24, "%d bytes", bytes);
  MUST(MPI_Pack_external_size("external32", 3, pair, &external_bytes));
  EXPECT(external_bytes == 24, "%ld bytes", (long)external_bytes);
  MUST(MPI_Sendrecv_replace(values, 2, MPI_INT, rank, 0, rank, 0, world, &status));
  MUST(MPI_Get_count(&status, pair, &count));
  EXPECT(count == 1, "%d items", count);
  MUST(MPI_Get_elements(&status, pair, &count));
  EXPECT(count == 2, "%d elements", count);
  MUST(MPI_Status_set_elements(&status, pair, 4));
  MUST(MPI_Get_count(&status, pair, &count));
  EXPECT(count == 2, "%d items", count);
  MUST(MPI_Type_free(&pair));
}

static void fortran(void) {
  MPI_Datatype real, same, integer, matched, complex;
  double out = 1.5, in = 0, sum = 0;
  int integers[2], bytes;
  MUST(MPI_Type_create_f90_real(15, 307, &real));
  MUST(MPI_Type_create_f90_real(15, 307, &same));
  EXPECT(real == same, "equal parameters give different handles");
  MUST(MPI_Type_create_f90_integer(9, &integer));
  MUST(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex));
  MUST(MPI_Type_size(integer, &bytes));
  EXPECT(bytes == 4, "%d bytes", bytes);
  MUST(MPI_Type_size(complex, &bytes));
  EXPECT(bytes == 8, "%d bytes", bytes);
  MUST(MPI_Type_get_contents(real, 2, 0, 0, integers, NULL, NULL));
  EXPECT(integers[0] == 15 && integers[1] == 307, "precision %d, range %d", integers[0],
         integers[1]);
  MUST(MPI_Sendrecv(&out, 1, real, rank, 0, &in, 1, real, rank, 0, world, MPI_STATUS_IGNORE));
  EXPECT(in == 1.5, "%g", in);
  MUST(MPI_Allreduce(&out, &sum, 1, real, MPI_SUM, world));
  EXPECT(sum == 1.5 * size, "%g", sum);
  MUST(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched));
  MUST(MPI_Type_size(matched, &bytes));
  EXPECT(bytes == 8, "%d bytes", bytes);
}

/* The extent of a structure with padding at the end is that of the C structure. */
static void padding(void) {
  struct Padded {
    wchar_t wide;
    char narrow;
  };
  MPI_Datatype structure;
  MPI_Aint lower, extent;
  MUST(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, sizeof(wchar_t)},
                              (MPI_Datatype[]){MPI_WCHAR, MPI_CHAR}, &structure));
  MUST(MPI_Type_get_extent(structure, &lower, &extent));
  EXPECT(lower == 0 && extent == sizeof(struct Padded), "extent %ld", (long)extent);
  MUST(MPI_Type_free(&structure));
}

/* MPICH's half precision numbers can be sent but not reduced. */
static void half_precision(void) {
#ifdef MPIX_C_FLOAT16
  char name[MPI_MAX_OBJECT_NAME];
  int length, bytes;
  short out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
  MPI_Datatype type;
  MUST(MPI_Type_get_name(MPIX_C_FLOAT16, name, &length));
  EXPECT(!are_ours || strcmp(name, "MPIX_C_FLOAT16") == 0, "named %s",
         name); /* MPICH 4.0.2 has no name for it */
  MUST(MPI_Type_size(MPIX_C_FLOAT16, &bytes));
  EXPECT(bytes == 2, "%d bytes", bytes);
  MUST(MPI_Type_contiguous(3, MPIX_C_FLOAT16, &type));
  MUST(MPI_Type_commit(&type));
  MUST(MPI_Sendrecv(out, 3, MPIX_C_FLOAT16, rank, 0, in, 1, type, rank, 0, world,
                    MPI_STATUS_IGNORE));
  EXPECT(memcmp(in, out, sizeof in) == 0, "%d %d %d", in[0], in[1], in[2]);
  MUST(MPI_Type_free(&type));
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(out, in, 1, MPIX_C_FLOAT16, MPI_SUM, world));
#endif
}

/* Counts that do not fit into an int. */
static void large_counts(void) {
  MPI_Count many = 3000000000, bytes, counts[4], ni, na, nc, nd, lower, extent;
  MPI_Datatype bytes_type, nothing, much_of_nothing, old;
  int combiner, integers[1], small;
  MPI_Aint addresses[1];
  MUST(MPI_Type_contiguous_c(many, MPI_CHAR, &bytes_type));
  MUST(MPI_Type_size_c(bytes_type, &bytes));
  EXPECT(bytes == many, "%lld bytes", (long long)bytes);
  MUST(MPI_Type_size(bytes_type, &small));
  EXPECT(small == MPI_UNDEFINED, "size %d", small);
  MUST(MPI_Type_get_extent_c(bytes_type, &lower, &extent));
  EXPECT(lower == 0 && extent == many, "extent %lld", (long long)extent);
  MUST(MPI_Type_get_envelope_c(bytes_type, &ni, &na, &nc, &nd, &combiner));
  EXPECT(ni == 0 && na == 0 && nc == 1 && nd == 1 && combiner == MPI_COMBINER_CONTIGUOUS,
         "envelope of %d", combiner);
  MUST(MPI_Type_get_contents_c(bytes_type, 0, 0, 1, 1, integers, addresses, counts, &old));
  EXPECT(counts[0] == many && old == MPI_CHAR, "count %lld", (long long)counts[0]);
  MUST(MPI_Type_free(&bytes_type));
  MUST(MPI_Type_contiguous(0, MPI_INT, &nothing));
  MUST(MPI_Type_contiguous_c(many, nothing, &much_of_nothing));
  MUST(MPI_Type_commit(&much_of_nothing));
  MUST(MPI_Sendrecv(&small, 1, much_of_nothing, rank, 7, &small, 1, much_of_nothing, rank, 7, world,
                    MPI_STATUS_IGNORE));
  int initialized, finalized;
  MUST(MPI_Initialized(&initialized));
  MUST(MPI_Finalized(&finalized));
  if (initialized && !finalized)
    MUST(MPI_Sendrecv(&small, 1, much_of_nothing, 0, 7, &small, 1, much_of_nothing, 0, 7,
                      MPI_COMM_SELF, MPI_STATUS_IGNORE));
  MUST(MPI_Type_free(&nothing));
  MUST(MPI_Type_free(&much_of_nothing));
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "none";
  int is_world = strcmp(mode, "world") == 0;
  if (strcmp(mode, "after") == 0) {
    MUST(MPI_Init(NULL, NULL));
    MUST(MPI_Finalize());
  }
  open_world("datatypes");
  make_types(1);
  check_on(world);
  for (int i = 0; i < TYPES; ++i) external(&types[i]);
  freed_in_use();
  wrong_arguments();
  not_committed();
  fortran();
  large_counts();
  padding();
  half_precision();
  if (is_world) {
    MUST(MPI_Init(NULL, NULL));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    check_on(MPI_COMM_WORLD); /* by native handles */
    free_types();
    are_ours = 0;
    make_types(1000); /* native types, read by Intersession */
    check_on(world);
    check_on(MPI_COMM_WORLD);
    freed_in_use();
    fortran();
    large_counts();
    half_precision();
  }
  free_types();
  int status = close_world();
  if (is_world) MUST(MPI_Finalize());
  return status;
}
