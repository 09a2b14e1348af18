/* SPDX-License-Identifier: BSD-3-Clause */
/* For test programs: a session, its world communicator, and checks that say where they failed. */
#ifndef TESTS_SESSION_WORLD_H
#define TESTS_SESSION_WORLD_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Session session;
static MPI_Comm world = MPI_COMM_NULL;
static int rank, size, failures;

#define EXPECT(condition, ...)                                             \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: rank %d: %s", __FILE__, __LINE__, rank, #condition); \
      fprintf(stderr, "; " __VA_ARGS__);                                   \
      fprintf(stderr, "\n");                                               \
      if (++failures > 20) exit(1);                                        \
    }                                                                      \
  } while (0)

/* The call must succeed. */
#define MUST(call)                                              \
  do {                                                          \
    int must_code = (call);                                     \
    if (must_code != MPI_SUCCESS) {                             \
      char must_text[MPI_MAX_ERROR_STRING];                     \
      int must_length;                                          \
      MPI_Error_string(must_code, must_text, &must_length);     \
      EXPECT(0, "%s: %s", #call, must_text);                    \
      exit(1);                                                  \
    }                                                           \
  } while (0)

/* The call must fail with this class. */
#define MUST_FAIL(expected, call)                                          \
  do {                                                                     \
    int fail_code = (call), fail_class = MPI_SUCCESS;                      \
    if (fail_code != MPI_SUCCESS) MPI_Error_class(fail_code, &fail_class); \
    EXPECT(fail_class == (expected), "%s: class %d, not %s", #call, fail_class, #expected); \
  } while (0)

static inline void open_world(const char *tag) {
  MPI_Group group;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_rank(world, &rank));
  MUST(MPI_Comm_size(world, &size));
}

/* Collective over these ranks of the world, in this order. */
static inline MPI_Comm comm_of(MPI_Session of, const char *tag, int members, const int *ranks) {
  MPI_Group all, group;
  MPI_Comm made;
  MUST(MPI_Group_from_session_pset(of, "mpi://WORLD", &all));
  MUST(MPI_Group_incl(all, members, ranks, &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&all));
  return made;
}

/* Prints the line that the test runner counts, if nothing failed here; the exit status of the program. */
static int verdict(void) {
  if (failures == 0) fputs("test passed\n", stdout); /* at once, where a launcher has made stdout unbuffered */
  return failures != 0;
}

/* Collective. Ends the session; the exit status of the program. */
static inline int close_world(void) {
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}

#endif
