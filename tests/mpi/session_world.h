/* SPDX-License-Identifier: BSD-3-Clause */
/* A session, its world communicator, and checks that report their position, for test programs. */
#ifndef TESTS_SESSION_WORLD_H
#define TESTS_SESSION_WORLD_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Session session;
static MPI_Comm world = MPI_COMM_NULL;
static int rank, size, failures;

#define EXPECT(condition, ...)                                                     \
  do {                                                                             \
    if (!(condition)) {                                                            \
      fprintf(stderr, "%s:%d: rank %d: %s", __FILE__, __LINE__, rank, #condition); \
      fprintf(stderr, "; " __VA_ARGS__);                                           \
      fprintf(stderr, "\n");                                                       \
      if (++failures > 20) exit(1);                                                \
    }                                                                              \
  } while (0)

/* The call must succeed. */
#define MUST(call)                                          \
  do {                                                      \
    int must_code = (call);                                 \
    if (must_code != MPI_SUCCESS) {                         \
      char must_text[MPI_MAX_ERROR_STRING];                 \
      int must_length;                                      \
      MPI_Error_string(must_code, must_text, &must_length); \
      EXPECT(0, "%s: %s", #call, must_text);                \
      exit(1);                                              \
    }                                                       \
  } while (0)

/* The call must fail with this class. */
#define MUST_FAIL(expected, call)                                                           \
  do {                                                                                      \
    const int fail_class = class_of(call);                                                  \
    EXPECT(fail_class == (expected), "%s: class %d, not %s", #call, fail_class, #expected); \
  } while (0)

static inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

static inline void open_world(const char* tag) {
  MPI_Group group;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_rank(world, &rank));
  MUST(MPI_Comm_size(world, &size));
}

/* Return a communicator of these world ranks, in this order; collective over them. */
static inline MPI_Comm comm_of(MPI_Session of, const char* tag, int members, const int* ranks) {
  MPI_Group all, group;
  MPI_Comm made;
  MUST(MPI_Group_from_session_pset(of, "mpi://WORLD", &all));
  MUST(MPI_Group_incl(all, members, ranks, &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&all));
  return made;
}

/* Collective over the world. Wait at `last` until all other ranks have called this function and
 * none of its messages is in flight; the others do not wait. A barrier would not do: a process
 * could die after it while another one is still in the barrier, whose call then fails. */
static inline void wait_for_other_ranks(int last) {
  enum { ready_tag = 4711 };
  if (rank != last) {
    MUST(MPI_Send(NULL, 0, MPI_BYTE, last, ready_tag, world));
    return;
  }
  for (int other = 0; other < size; ++other)
    if (other != last)
      MUST(MPI_Recv(NULL, 0, MPI_BYTE, other, ready_tag, world, MPI_STATUS_IGNORE));
}

/* Check that an intracommunicator works; collective. */
static inline void check_sum(MPI_Comm comm) {
  int one = 1, sum = 0, members;
  MUST(MPI_Comm_size(comm, &members));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == members, "%d of %d", sum, members);
}

/* Collective over all world ranks but one, which has died. Check that a communicator of the others
 * works; the calls also make progress on messages in flight. */
static inline void check_survivors(int victim) {
  int *ranks = (int*)malloc(sizeof *ranks * (size_t)size), members = 0;
  for (int other = 0; other < size; ++other)
    if (other != victim) ranks[members++] = other;
  MPI_Comm survivors = comm_of(session, "test.survivors", members, ranks);
  for (int i = 0; i < 100; ++i) check_sum(survivors);
  MUST(MPI_Comm_free(&survivors));
  free(ranks);
}

/* Print the line that the test runner counts if no check failed, and return the exit status. */
static int verdict(void) {
  if (failures == 0)
    fputs("test passed\n",
          stdout); /* in one write, also if a launcher has made stdout unbuffered */
  return failures != 0;
}

/* Collective. End the session and return the exit status of the program. */
static inline int close_world(void) {
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}

#endif
