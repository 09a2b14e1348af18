/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures MPI_Pack and MPI_Unpack in one process, natively and in a session.
 *
 *   packing_times [REPETITIONS] */
#include "bench/collectives/side_by_side.h"

enum { MOST = 8 << 20 };

typedef struct {
  char *items, *packed;
  MPI_Datatype type;
  int bytes;
} Case;

static void pack(MPI_Comm comm, void* state) {
  Case* c = state;
  int position = 0;
  MPI_Pack(c->items, 1, c->type, c->packed, MOST, &position, comm);
}

static void unpack(MPI_Comm comm, void* state) {
  Case* c = state;
  int position = 0;
  MPI_Unpack(c->packed, MOST, &position, c->items, 1, c->type, comm);
}

static void measure(Case* c, const char* layout, MPI_Datatype type, int repetitions) {
  char what[100];
  c->type = type;
  MPI_Type_commit(&c->type);
  MPI_Type_size(c->type, &c->bytes);
  snprintf(what, sizeof what, "pack,%s,%d", layout, c->bytes);
  compare(what, pack, worlds, c, 5, repetitions);
  snprintf(what, sizeof what, "unpack,%s,%d", layout, c->bytes);
  compare(what, unpack, worlds, c, 5, repetitions);
  MPI_Type_free(&c->type);
}

static MPI_Datatype vector(int count, int length, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, stride, MPI_DOUBLE, &type);
  return type;
}

/* Return a type with blocks of 1 to `most` doubles at irregular displacements. */
static MPI_Datatype indexed(int count, int most) {
  int *lengths = malloc(sizeof(int) * count), *displacements = malloc(sizeof(int) * count),
      next = 0;
  unsigned seed = 7;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1103515245u + 12345u;
    lengths[i] = 1 + (seed >> 16) % most;
    displacements[i] = next;
    next += lengths[i] + 1 + (seed >> 8) % 5;
  }
  MPI_Datatype type;
  MPI_Type_indexed(count, lengths, displacements, MPI_DOUBLE, &type);
  free(lengths);
  free(displacements);
  return type;
}

static MPI_Datatype cube(int size, int part) {
  int sizes[3] = {size, size, size}, parts[3] = {part, part, part}, starts[3] = {1, 1, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

int main(int argc, char** argv) {
  int repetitions = argc > 1 ? atoi(argv[1]) : 9;
  Case c = {calloc(1, MOST), calloc(1, MOST), MPI_DATATYPE_NULL, 0};
  open_both(&argc, &argv, "intersession.bench.packing");
  measure(&c, "vector of 1 double", vector(16, 1, 4), repetitions);
  measure(&c, "vector of 1 double", vector(4096, 1, 4), repetitions);
  measure(&c, "vector of 1 double", vector(131072, 1, 4), repetitions);
  measure(&c, "vector of 16 doubles", vector(64, 16, 32), repetitions);
  measure(&c, "vector of 16 doubles", vector(8192, 16, 32), repetitions);
  measure(&c, "indexed by 1-4 doubles", indexed(16, 4), repetitions);
  measure(&c, "indexed by 1-4 doubles", indexed(4096, 4), repetitions);
  measure(&c, "indexed by 1-4 doubles", indexed(65536, 4), repetitions);
  measure(&c, "indexed by 1-64 doubles", indexed(256, 64), repetitions);
  measure(&c, "indexed by 1-64 doubles", indexed(16384, 64), repetitions);
  measure(&c, "subarray of a cube", cube(16, 8), repetitions);
  measure(&c, "subarray of a cube", cube(64, 32), repetitions);
  measure(&c, "subarray of a cube", cube(96, 90), repetitions);
  free(c.items);
  free(c.packed);
  return close_both();
}
