/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests functions that MPI-3.0 removed and native libraries still have: on objects of Intersession
 * they do what their successors do (MPI-4.1 §17.1). */
#include "session_world.h"

#undef MPI_Errhandler_create
#undef MPI_Errhandler_get
#undef MPI_Errhandler_set
#undef MPI_Type_extent
#undef MPI_Type_hindexed
#undef MPI_Type_hvector
#undef MPI_Type_lb
#undef MPI_Type_struct
#undef MPI_Type_ub
int MPI_Errhandler_create(void (*function)(MPI_Comm*, int*, ...), MPI_Errhandler* handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent);
int MPI_Type_hindexed(int count, int* lengths, MPI_Aint* places, MPI_Datatype old,
                      MPI_Datatype* made);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint* bound);
int MPI_Type_struct(int count, int* lengths, MPI_Aint* places, MPI_Datatype* types,
                    MPI_Datatype* made);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint* bound);

static int errors;
static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)code;
  if (*comm == world) ++errors;
}

static void handlers(void) {
  MPI_Errhandler handler, found;
  MUST(MPI_Errhandler_create(count_errors, &handler));
  MUST(MPI_Errhandler_set(world, handler));
  MUST(MPI_Errhandler_get(world, &found));
  EXPECT(found == handler, "a different handler");
  MUST(MPI_Errhandler_free(&found));
  MUST(MPI_Errhandler_free(&handler));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(NULL, 0, MPI_INT, size, 0, world));
  EXPECT(errors == 1, "the handler ran %d times", errors);
  MUST(MPI_Errhandler_set(world, MPI_ERRORS_RETURN));
}

/* Send elements 0, 2, 3 of eight with the type, and free it. */
static void check(const char* form, MPI_Datatype type) {
  const int out[8] = {10, 11, 12, 13, 14, 15, 16, 17};
  int in[3] = {0};
  MPI_Aint extent = -1, lower = -1, upper = -1;
  MUST(MPI_Type_extent(type, &extent));
  MUST(MPI_Type_lb(type, &lower));
  MUST(MPI_Type_ub(type, &upper));
  EXPECT(lower == 0 && upper == extent && extent == 4 * (MPI_Aint)sizeof(int),
         "%s: bounds %ld and %ld, extent %ld", form, (long)lower, (long)upper, (long)extent);
  MUST(MPI_Type_commit(&type));
  MUST(MPI_Sendrecv(out, 1, type, rank, 1, in, 3, MPI_INT, rank, 1, world, MPI_STATUS_IGNORE));
  EXPECT(in[0] == 10 && in[1] == 12 && in[2] == 13, "%s: %d %d %d", form, in[0], in[1], in[2]);
  MUST(MPI_Type_free(&type));
}

static void types(void) {
  MPI_Datatype type, parts[2] = {MPI_INT, MPI_INT}, row, of_rows[2];
  int lengths[2] = {1, 2}, ones[2] = {1, 1};
  MPI_Aint places[2] = {0, 2 * sizeof(int)}, extent = 0;
  MUST(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type));
  check("hindexed", type);
  MUST(MPI_Type_struct(2, lengths, places, parts, &type));
  check("struct", type);
  MUST(MPI_Type_hvector(2, 1, 3 * sizeof(int), MPI_INT, &row)); /* 0 and 3 */
  of_rows[0] = row, of_rows[1] = MPI_INT;
  MUST(MPI_Type_struct(2, ones, places, of_rows, &type));
  MUST(MPI_Type_extent(type, &extent));
  EXPECT(extent == 4 * (MPI_Aint)sizeof(int), "extent %ld", (long)extent);
  MUST(MPI_Type_free(&row));
  MUST(MPI_Type_free(&type));
}

int main(void) {
  open_world("test.removed_functions");
  handlers();
  types();
  return close_world();
}
