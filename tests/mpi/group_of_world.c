/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests communicators from groups of the other model. With groups of MPI_COMM_WORLD: before the
 * program has opened a session, while it has one, and after it has finalized it; the first call
 * starts Intersession, and freeing the last communicator ends it. With groups of a session: native
 * communicators. */
#include "session_world.h"

static void from_group(MPI_Group group) {
  MPI_Comm made, copy;
  int members;
  MUST(MPI_Comm_create_from_group(group, "test.group_of_world", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &made));
  MUST(MPI_Comm_size(made, &members));
  EXPECT(members == size, "%d members", members);
  check_sum(made);
  MUST(MPI_Comm_dup(made, &copy));
  MUST(MPI_Comm_free(&made));
  check_sum(copy);
  MUST(MPI_Comm_free(&copy));
}

/* Create communicators of odd and even ranks; the lowest rank of each group is its leader. */
static void from_groups(MPI_Group group) {
  MPI_Group mine, other;
  MPI_Comm inter;
  int evens[][3] = {{0, size - 1, 2}}, odds[][3] = {{1, size - 1, 2}}, is_odd = rank % 2, one = 1,
      sum = 0, others = (size + is_odd) / 2;
  MUST(MPI_Group_range_incl(group, 1, is_odd ? odds : evens, &mine));
  MUST(MPI_Group_range_incl(group, 1, is_odd ? evens : odds, &other));
  MUST(MPI_Intercomm_create_from_groups(mine, 0, other, 0, "test.groups_of_world", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &inter));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  EXPECT(sum == others, "%d of %d others", sum, others);
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Group_free(&mine));
  MUST(MPI_Group_free(&other));
}

static int calls;
static void count_call(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  calls += *code != MPI_SUCCESS;
}

/* An error handler of the native library is called. */
static void handled(MPI_Group group) {
  MPI_Errhandler counting;
  MPI_Comm made;
  char byte = 0;
  MUST(MPI_Comm_create_errhandler(count_call, &counting));
  MUST(MPI_Comm_create_from_group(group, "test.handled", MPI_INFO_NULL, counting, &made));
  MUST(MPI_Errhandler_free(&counting));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&byte, 1, MPI_BYTE, size, 0, made));
  EXPECT(calls == 1, "the handler was called %d times", calls);
  MUST(MPI_Comm_free(&made));
}

/* Check a communicator over half of the processes, and free it. */
static void check_half(MPI_Comm* made, MPI_Group half) {
  MPI_Group members;
  int is_same;
  check_sum(*made);
  MUST(MPI_Comm_group(*made, &members));
  MUST(MPI_Group_compare(members, half, &is_same));
  EXPECT(is_same == MPI_IDENT, "%d", is_same);
  MUST(MPI_Group_free(&members));
  MUST(MPI_Comm_free(made));
}

/* Pass a group of the session to calls on MPI_COMM_WORLD, also after the session has ended, and a
 * group of MPI_COMM_WORLD to calls on a communicator of the session. */
static void mixed_groups(MPI_Group of_world) {
  MPI_Group of_session, half, same_half, stale;
  MPI_Comm made, ours;
  int is_odd = rank % 2, is_same;
  int ranges[][3] = {{is_odd, size - 1, 2}},
      downward[][3] = {{size - 1 - (size - 1 + is_odd) % 2, 0, -2}};
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &of_session));
  MUST(MPI_Comm_create_from_group(of_session, "test.mixed", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &ours));
  MUST(MPI_Group_range_incl(of_session, 1, ranges, &half));
  MUST(MPI_Group_range_incl(of_world, 1, ranges, &same_half));
  MUST(MPI_Group_compare(half, same_half, &is_same));
  EXPECT(is_same == MPI_IDENT, "%d", is_same);
  for (int round = 0; round < 2; ++round) {
    MUST(MPI_Comm_create_group(MPI_COMM_WORLD, half, 7, &made));
    check_half(&made, half);
    MUST(MPI_Comm_create(MPI_COMM_WORLD, half, &made));
    check_half(&made, same_half);
    MUST(MPI_Comm_create_group(ours, same_half, 7, &made));
    check_half(&made, half);
    MUST(MPI_Comm_create(ours, same_half, &made));
    check_half(&made, same_half);
  }
  MUST(MPI_Group_free(&same_half));
  MUST(MPI_Group_range_incl(of_session, 1, downward, &same_half));
  MUST(MPI_Comm_create_group(MPI_COMM_WORLD, same_half, 7, &made));
  check_half(&made, same_half);
  MUST(MPI_Group_free(&same_half));
  MUST(MPI_Comm_free(&ours));
  MUST(MPI_Session_finalize(&session));
  MUST(MPI_Comm_create_group(MPI_COMM_WORLD, half, 7, &made));
  check_half(&made, half);
  stale = half;
  MUST(MPI_Group_free(&half));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Comm_create_group(MPI_COMM_WORLD, stale, 7, &made));
  MUST(MPI_Group_free(&of_session));
}

int main(int argc, char** argv) {
  MPI_Group group;
  MPI_Init(&argc, &argv);
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
  from_group(group);
  from_groups(group);
  handled(group);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  from_group(group);
  from_groups(group);
  MUST(MPI_Session_finalize(&session));
  from_group(group);
  if (argc > 1) mixed_groups(group); /* "mixed" */
  MUST(MPI_Group_free(&group));
  MPI_Finalize();
  return verdict();
}
