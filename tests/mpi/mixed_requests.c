/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests requests of the world model and of a session in the same arrays, set operations on groups
 * of both models, and messages of both models at the same time with the same ranks and tags. */
#include "session_world.h"

enum { PAIRS = 4, COUNT = 2 * PAIRS };

static MPI_Comm kind(int i) { return i % 2 ? world : MPI_COMM_WORLD; }

static void post(MPI_Request* requests, int* values) {
  int before = (rank + size - 1) % size;
  for (int i = 0; i < COUNT; ++i) {
    values[i] = -1;
    MUST(MPI_Irecv(&values[i], 1, MPI_INT, before, i / 2, kind(i), &requests[i]));
  }
}

/* Send in the order given by `first`, so that each model is first at times. */
static void send_all(int first) {
  int next = (rank + 1) % size;
  for (int k = 0; k < COUNT; ++k) {
    int i = (k + first) % COUNT, value = i * 10 + rank;
    MUST(MPI_Send(&value, 1, MPI_INT, next, i / 2, kind(i)));
  }
}

static void expect_values(const int* values) {
  int before = (rank + size - 1) % size;
  for (int i = 0; i < COUNT; ++i)
    EXPECT(values[i] == i * 10 + before, "value %d at %d", values[i], i);
}

static void all_forms(void) {
  for (int form = 0; form < 6; ++form) {
    MPI_Request requests[COUNT + 1];
    MPI_Status statuses[COUNT + 1];
    int values[COUNT], indices[COUNT + 1], left = COUNT, n, flag = 0;
    requests[COUNT] = MPI_REQUEST_NULL;
    post(requests, values);
    send_all(form);
    if (form == 0) MUST(MPI_Waitall(COUNT + 1, requests, statuses));
    if (form == 1)
      while (!flag) MUST(MPI_Testall(COUNT + 1, requests, &flag, statuses));
    while (form > 1 && left > 0) {
      n = 0;
      if (form == 2) MUST(MPI_Waitany(COUNT + 1, requests, indices, statuses));
      if (form == 3) MUST(MPI_Testany(COUNT + 1, requests, indices, &flag, statuses));
      if (form == 4) MUST(MPI_Waitsome(COUNT + 1, requests, &n, indices, statuses));
      if (form == 5) MUST(MPI_Testsome(COUNT + 1, requests, &n, indices, statuses));
      if (form == 2 || (form == 3 && flag)) n = 1;
      for (int k = 0; k < n; ++k)
        EXPECT(statuses[k].MPI_TAG == indices[k] / 2, "status of the wrong request");
      left -= n;
    }
    if (form < 2)
      for (int i = 0; i < COUNT; ++i)
        EXPECT(statuses[i].MPI_TAG == i / 2, "status %d has tag %d", i, statuses[i].MPI_TAG);
    expect_values(values);
    for (int i = 0; i < COUNT; ++i)
      EXPECT(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
  }
}

static void persistent_arrays(void) {
  MPI_Request requests[COUNT];
  int values[COUNT], before = (rank + size - 1) % size;
  for (int i = 0; i < COUNT; ++i)
    MUST(MPI_Recv_init(&values[i], 1, MPI_INT, before, i / 2, kind(i), &requests[i]));
  for (int round = 0; round < 3; ++round) {
    MUST(MPI_Startall(COUNT, requests));
    send_all(round);
    MUST(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    expect_values(values);
  }
  for (int i = 0; i < COUNT; ++i) MUST(MPI_Request_free(&requests[i]));
}

static void groups_of_both(void) {
  MPI_Group theirs, ours, both, none, rest;
  int result, n, zero = 0, translated;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &theirs));
  MUST(MPI_Comm_group(world, &ours));
  MUST(MPI_Group_compare(theirs, ours, &result));
  EXPECT(result == MPI_IDENT, "the same processes in the same order compare as %d", result);
  MUST(MPI_Group_union(theirs, ours, &both));
  MUST(MPI_Group_size(both, &n));
  EXPECT(n == size, "union has %d", n);
  MUST(MPI_Group_difference(ours, theirs, &none));
  MUST(MPI_Group_size(none, &n));
  EXPECT(n == 0, "difference has %d", n);
  MUST(MPI_Group_translate_ranks(theirs, 1, &rank, ours, &translated));
  EXPECT(translated == rank, "translated to %d", translated);
  MUST(MPI_Group_excl(ours, 1, &zero, &rest));
  MUST(MPI_Group_intersection(theirs, rest, &none));
  MUST(MPI_Group_size(none, &n));
  EXPECT(n == size - 1, "intersection has %d", n);
  /* a communicator from a group of the world model */
  MPI_Comm comm;
  MUST(MPI_Comm_create_from_group(theirs, "test.mixed.group", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &comm));
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  open_world("test.mixed");
  all_forms();
  persistent_arrays();
  groups_of_both();
  int code = close_world();
  MPI_Finalize();
  return code;
}
