/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the persistent collectives that Open MPI has named MPIX_ since before MPI-4: on a session's
 * communicator, and with the argument beside_world also on MPI_COMM_WORLD. */
#include "../session_world.h"

#include <mpi-ext.h>

enum { starts = 3, items = 5 };

/* Start the request repeatedly and free it; `prepare` fills the buffers, `check` compares them. */
static void run(MPI_Request* request, void (*prepare)(int), void (*check)(int)) {
  for (int start = 0; start < starts; ++start) {
    prepare(start);
    MUST(MPI_Start(request));
    MUST(MPI_Wait(request, MPI_STATUS_IGNORE));
    check(start);
  }
  MUST(MPI_Request_free(request));
}

static int given[64], taken[64];

static void fill(int start) {
  for (int i = 0; i < 64; ++i) {
    given[i] = 100 * start + 10 * rank + i;
    taken[i] = -1;
  }
}
static void nothing(int start) { (void)start; }
static void has_sum(int start) {
  for (int i = 0; i < items; ++i)
    EXPECT(taken[i] == size * (100 * start + i) + 10 * size * (size - 1) / 2, "start %d: %d", start,
           taken[i]);
}
static void has_last(int start) {
  EXPECT(given[1] == 100 * start + 10 * (size - 1) + 1, "start %d: %d", start, given[1]);
}
static void has_one_of_each(int start) {
  for (int other = 0; other < size; ++other)
    EXPECT(taken[2 * other] == 100 * start + 10 * other + rank && taken[2 * other + 1] == -1,
           "start %d: %d of %d", start, taken[2 * other], other);
}
static void has_neighbours(int start) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  EXPECT(taken[0] == 100 * start + 10 * left && taken[1] == 100 * start + 10 * right,
         "start %d: %d and %d", start, taken[0], taken[1]);
}

/* Alltoallw: item i for member i, received with a type that has a gap behind the integer. */
static void exchange(MPI_Comm comm, MPI_Datatype spaced) {
  int counts[16], out_at[16], in_at[16];
  MPI_Datatype out_types[16], in_types[16];
  MPI_Request request;
  for (int other = 0; other < size; ++other) {
    counts[other] = 1;
    out_at[other] = (int)sizeof(int) * other;
    in_at[other] = 2 * (int)sizeof(int) * other;
    out_types[other] = MPI_INT;
    in_types[other] = spaced;
  }
  MUST(MPIX_Alltoallw_init(given, counts, out_at, out_types, taken, counts, in_at, in_types, comm,
                           MPI_INFO_NULL, &request));
  run(&request, fill, has_one_of_each);
}

static void neighbours(MPI_Comm comm) {
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Request request;
  MUST(MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring));
  MUST(MPIX_Neighbor_allgather_init(given, 1, MPI_INT, taken, 1, MPI_INT, ring, MPI_INFO_NULL,
                                    &request));
  run(&request, fill, has_neighbours);
  MUST(MPI_Comm_free(&ring));
}

static void test(MPI_Comm comm) {
  MPI_Request request;
  MPI_Datatype spaced;
  MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
  MUST(MPI_Type_commit(&spaced));
  MUST(MPIX_Barrier_init(comm, MPI_INFO_NULL, &request));
  run(&request, nothing, nothing);
  MUST(MPIX_Bcast_init(given, items, MPI_INT, size - 1, comm, MPI_INFO_NULL, &request));
  run(&request, fill, has_last);
  MUST(PMPIX_Allreduce_init(given, taken, items, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  run(&request, fill, has_sum);
  exchange(comm, spaced);
  MUST(MPI_Type_free(&spaced));
  neighbours(comm);
}

int main(int argc, char** argv) {
  const int is_beside_world = argc > 1 && strcmp(argv[1], "beside_world") == 0;
  open_world("test.openmpi_extensions");
  test(world);
  if (is_beside_world) {
    MUST(MPI_Init(NULL, NULL));
    test(MPI_COMM_WORLD);
    test(world);
    MUST(MPI_Finalize());
  }
  return close_world();
}
