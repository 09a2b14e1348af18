/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests MPI_Comm_idup and the forms with hints. */
#include "session_world.h"

static void exercise(MPI_Comm comm) {
  int r, n, sum = -1;
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == n * (n - 1) / 2, "sum %d", sum);
}

static int has(MPI_Comm comm, const char* key, const char* wanted) {
  MPI_Info info;
  char value[64] = "";
  int flag = 0;
  MUST(MPI_Comm_get_info(comm, &info));
  MUST(MPI_Info_get(info, key, 63, value, &flag));
  MUST(MPI_Info_free(&info));
  return flag && strcmp(value, wanted) == 0;
}

static void nonblocking(void) {
  MPI_Comm copies[10], overlapping;
  MPI_Request requests[10], other;
  for (int i = 0; i < 10; ++i) MUST(MPI_Comm_idup(world, &copies[i], &requests[i]));
  MUST(MPI_Waitall(10, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 10; ++i) {
    exercise(copies[i]);
    if (i > 0) MUST(MPI_Comm_free(&copies[i]));
  }
  /* other members call only after a message that follows this call */
  int token = 1, flag = 0;
  if (rank == 0) {
    MUST(MPI_Comm_idup(copies[0], &overlapping, &other));
    for (int i = 1; i < size; ++i) MUST(MPI_Send(&token, 1, MPI_INT, i, 1, world));
  } else {
    MUST(MPI_Recv(&token, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_idup(copies[0], &overlapping, &other));
  }
  while (!flag) MUST(MPI_Test(&other, &flag, MPI_STATUS_IGNORE));
  EXPECT(other == MPI_REQUEST_NULL, "the request is not null");
  exercise(overlapping);
  MUST(MPI_Comm_free(&overlapping));
  MUST(MPI_Comm_free(&copies[0]));
}

/* Duplicate and free repeatedly, as a loop of solver calls does. */
static void many(void) {
  MPI_Comm child, kept[3];
  for (int i = 0; i < 10000; ++i) {
    MUST(MPI_Comm_dup(world, &child));
    if (i == 100 || i == 5000 || i == 9999)
      kept[(i + 1) / 5000] = child;
    else
      MUST(MPI_Comm_free(&child));
  }
  for (int i = 0; i < 3; ++i) {
    exercise(kept[i]);
    MUST(MPI_Comm_free(&kept[i]));
  }
}

/* Nested duplicates, more than context ids without communication allow; still no member waits in
 * the call. */
static void nested(int levels) {
  MPI_Comm parent, child, others[3], last;
  MPI_Request requests[3], request;
  int token = 1;
  MUST(MPI_Comm_dup(world, &parent));
  for (int i = 0; i < levels; ++i) {
    MUST(MPI_Comm_dup(parent, &child));
    MUST(MPI_Comm_free(&parent));
    parent = child;
  }
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) MUST(MPI_Comm_idup(parent, &others[i], &requests[i]));
    for (int i = 1; i < size; ++i) MUST(MPI_Send(&token, 1, MPI_INT, i, 1, world));
  } else {
    MUST(MPI_Recv(&token, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; ++i) MUST(MPI_Comm_idup(parent, &others[i], &requests[i]));
  }
  exercise(parent); /* meanwhile */
  MUST(MPI_Comm_idup(parent, &last, &request));
  MUST(MPI_Comm_free(&parent));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  exercise(last);
  MUST(MPI_Comm_free(&last));
  for (int i = 2; i >= 0; --i) {
    exercise(others[i]);
    MUST(MPI_Comm_free(&others[i]));
  }
}

static void hints(void) {
  MPI_Info info;
  MPI_Comm with, without, later;
  MPI_Request request;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  MUST(MPI_Info_set(info, "nobody_knows_this", "true"));
  MUST(MPI_Comm_dup_with_info(world, info, &with));
  EXPECT(has(with, "mpi_assert_no_any_tag", "true"), "the hint is lost");
  EXPECT(!has(with, "nobody_knows_this", "true"), "an unknown hint has an effect");
  EXPECT(!has(world, "mpi_assert_no_any_tag", "true"), "the parent has the hint");
  MUST(MPI_Comm_dup(with, &without));
  EXPECT(!has(without, "mpi_assert_no_any_tag", "true"),
         "MPI_Comm_dup gave the hint to the duplicate");
  MUST(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
  MUST(MPI_Comm_set_info(without, info));
  EXPECT(has(without, "mpi_assert_exact_length", "true") &&
             has(without, "mpi_assert_no_any_tag", "true"),
         "MPI_Comm_set_info");
  MUST(MPI_Comm_idup_with_info(without, info, &later, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(has(later, "mpi_assert_exact_length", "true"), "MPI_Comm_idup_with_info");
  MUST(MPI_Info_free(&info));
  exercise(later);
  MUST(MPI_Comm_free(&later));
  MUST(MPI_Comm_free(&without));
  MUST(MPI_Comm_free(&with));
  MPI_Comm none = MPI_COMM_NULL;
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_idup(world, &none, NULL));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_idup(world, NULL, &request));
}

int main(void) {
  open_world("test.duplicates");
  nonblocking();
  many();
  for (int levels = 0; levels < 40; ++levels) nested(levels); /* one of them uses the last number */
  hints();
  return close_world();
}
