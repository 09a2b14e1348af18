/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests reductions that the standard does not list and that the native libraries compute: on a
 * communicator of a session they give the native library's result. With the argument "standard"
 * (INTERSESSION_REDUCTIONS=standard) they are errors. Other unlisted reductions are errors. */
#include "session_world.h"

enum { items = 256 };

static const struct Operation {
  MPI_Op op;
  const char* name;
  int is_logical;
} operations[] = {{MPI_MAX, "MPI_MAX", 0},   {MPI_MIN, "MPI_MIN", 0},   {MPI_SUM, "MPI_SUM", 0},
                  {MPI_PROD, "MPI_PROD", 0}, {MPI_LAND, "MPI_LAND", 1}, {MPI_BAND, "MPI_BAND", 0},
                  {MPI_LOR, "MPI_LOR", 1},   {MPI_BOR, "MPI_BOR", 0},   {MPI_LXOR, "MPI_LXOR", 1},
                  {MPI_BXOR, "MPI_BXOR", 0}};

/* Each pair of values of a byte occurs, and zeros in all bytes of an item. Sums and products stay
 * small: Open MPI's vectorised ones of one byte are limited, its others wrap around. */
static void fill(unsigned char* data, size_t bytes, int is_small) {
  for (size_t i = 0; i < bytes; ++i) {
    data[i] = (unsigned char)(i % 5 == 0 ? 0 : i * (rank == 0 ? 1 : 37) + 11 * (size_t)rank);
    if (is_small) data[i] %= 8;
  }
}

static void compare(MPI_Datatype type, const char* type_name, const struct Operation* with) {
  unsigned char in[8 * items], ours[8 * items], theirs[8 * items];
  int bytes;
  MUST(MPI_Type_size(type, &bytes));
  bytes *= items;
  fill(in, sizeof in, with->op == MPI_SUM || with->op == MPI_PROD);
  memset(ours, 0, sizeof ours);
  memset(theirs, 0, sizeof theirs);
  MUST(MPI_Allreduce(in, ours, items, type, with->op, world));
  MUST(MPI_Allreduce(in, theirs, items, type, with->op, MPI_COMM_WORLD));
  EXPECT(memcmp(ours, theirs, sizeof ours) == 0, "%s on %s", with->name, type_name);
  memcpy(ours, in, sizeof in);
  memcpy(theirs, in, sizeof in);
  MUST(MPI_Reduce_scatter_block(MPI_IN_PLACE, ours, items / size, type, with->op, world));
  MUST(
      MPI_Reduce_scatter_block(MPI_IN_PLACE, theirs, items / size, type, with->op, MPI_COMM_WORLD));
  EXPECT(memcmp(ours, theirs, (size_t)(bytes / size)) == 0, "%s on %s, scattered", with->name,
         type_name);
}

static void refused(MPI_Datatype type, const char* type_name, const struct Operation* with) {
  unsigned char in[64] = {0}, out[64];
  const int found = class_of(MPI_Allreduce(in, out, 1, type, with->op, world));
  EXPECT(found == MPI_ERR_OP, "%s on %s: class %d", with->name, type_name, found);
}

int main(int argc, char** argv) {
  const int is_standard = argc > 1 && strcmp(argv[1], "standard") == 0;
  const struct {
    MPI_Datatype type;
    const char* name;
    int only_logical;
  } unlisted[] = {{MPI_CHAR, "MPI_CHAR", 0},
                  {MPI_CHARACTER, "MPI_CHARACTER", 0},
                  {MPI_INTEGER1, "MPI_INTEGER1", 1},
                  {MPI_INTEGER2, "MPI_INTEGER2", 1},
                  {MPI_INTEGER8, "MPI_INTEGER8", 1}};
  const struct Operation land = {MPI_LAND, "MPI_LAND", 1}, max = {MPI_MAX, "MPI_MAX", 0};
  MPI_Init(&argc, &argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  open_world("test.unlisted_reductions");
  for (size_t t = 0; t < sizeof unlisted / sizeof *unlisted; ++t)
    for (size_t o = 0; o < sizeof operations / sizeof *operations; ++o) {
      if (unlisted[t].only_logical && !operations[o].is_logical) continue;
      (is_standard ? refused : compare)(unlisted[t].type, unlisted[t].name, &operations[o]);
    }
  refused(MPI_WCHAR, "MPI_WCHAR", &max);
  refused(MPI_PACKED, "MPI_PACKED", &max);
  refused(MPI_BYTE, "MPI_BYTE", &max);
  refused(MPI_DOUBLE, "MPI_DOUBLE", &land);
  refused(MPI_INTEGER, "MPI_INTEGER", &land);
  MPI_Finalize();
  return close_world();
}
