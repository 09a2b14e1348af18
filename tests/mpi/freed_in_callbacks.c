/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests objects that the program has freed while operations use them: callbacks get valid handles.
 * With the argument "world" the world model is initialised, so that datatypes and operations are
 * native objects. */
#include "session_world.h"

enum { PAIRS = 5000 };
static int in[2 * PAIRS], out[2 * PAIRS];
static int applied, handled;

static void add(void* from, void* to, int* length, MPI_Datatype* type) {
  int bytes = -1, integers = -1, addresses = -1, types = -1, combiner = -1;
  MPI_Aint lower = -1, extent = -1;
  MUST(MPI_Type_size(*type, &bytes));
  MUST(MPI_Type_get_extent(*type, &lower, &extent));
  MUST(MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner));
  EXPECT(bytes == 2 * (int)sizeof(int) && extent == bytes && types == 1,
         "size %d extent %d combiner %d", bytes, (int)extent, combiner);
  for (int i = 0; i < *length * bytes / (int)sizeof(int); ++i) ((int*)to)[i] += ((int*)from)[i];
  ++applied;
}

static void expect_sum(const char* what) {
  for (int i = 0; i < 2 * PAIRS; ++i)
    if (out[i] != size * i + size * (size - 1) / 2) {
      EXPECT(0, "%s: item %d is %d", what, i, out[i]);
      break;
    }
  int by_all = 0;
  MUST(MPI_Allreduce(&applied, &by_all, 1, MPI_INT, MPI_SUM, world));
  EXPECT(size == 1 || by_all > 0, "%s: the operation was not applied", what);
  applied = 0;
  memset(out, 0, sizeof out);
}

static void operations(MPI_Comm comm, int persistent) {
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Request request;
  MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
  MUST(MPI_Type_commit(&pair));
  MUST(MPI_Op_create(add, 1, &op));
  for (int i = 0; i < 2 * PAIRS; ++i) in[i] = rank + i;
  if (persistent)
    MUST(MPI_Allreduce_init(in, out, PAIRS, pair, op, comm, MPI_INFO_NULL, &request));
  else
    MUST(MPI_Iallreduce(in, out, PAIRS, pair, op, comm, &request));
  MUST(MPI_Op_free(&op));
  MUST(MPI_Type_free(&pair));
  for (int start = 0; start < (persistent ? 3 : 1); ++start) {
    if (persistent) MUST(MPI_Start(&request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_sum(persistent ? "MPI_Allreduce_init" : "MPI_Iallreduce");
  }
  if (persistent) MUST(MPI_Request_free(&request));
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  int members = -1, number = -1, error_class = -1;
  (void)code;
  ++handled;
  MUST(MPI_Comm_size(*comm, &members));
  MUST(MPI_Comm_rank(*comm, &number));
  EXPECT(members == size && number == rank, "size %d rank %d", members, number);
  MUST(MPI_Error_class(*code, &error_class));
  EXPECT(error_class == MPI_ERR_TRUNCATE, "class %d", error_class);
}

/* A receive fails with a truncated message after the communicator was freed. */
static void communicators(void) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Request requests[2];
  int two[2] = {1, 2}, one = 0;
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_create_errhandler(on_error, &handler));
  MUST(MPI_Comm_set_errhandler(comm, handler));
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_Irecv(&one, 1, MPI_INT, rank, 0, comm, &requests[0]));
  MUST(MPI_Isend(two, 2, MPI_INT, rank, 0, comm, &requests[1]));
  MUST(MPI_Comm_free(&comm));
  MUST_FAIL(MPI_ERR_TRUNCATE, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  EXPECT(handled == 1, "the handler ran %d times", handled);
  MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  const int with_world = argc > 1 && strcmp(argv[1], "world") == 0;
  if (with_world) MUST(MPI_Init(&argc, &argv));
  open_world("test.freed_in_callbacks");
  operations(world, 0);
  operations(world, 1);
  if (with_world) operations(MPI_COMM_WORLD, 0);
  if (with_world) operations(MPI_COMM_WORLD, 1);
  communicators();
  if (with_world) MUST(MPI_Finalize());
  return close_world();
}
