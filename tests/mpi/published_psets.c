/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests process sets that the program publishes: one process publishes a set and sends its name to
 * the others, which find it with their next query. */
#include <time.h>

#include "use_group.h"

static MPI_Group world_group;

/* Return the group of these world ranks, in this order. */
static MPI_Group group_of(int count, const int* ranks) {
  MPI_Group group;
  MUST(MPI_Group_incl(world_group, count, ranks, &group));
  return group;
}

/* Return the index of the name in this process's list; -1 if it is not listed. */
static int index_of(const char* name) {
  int count = 0;
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  for (int n = 0; n < count; ++n) {
    char found[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof found;
    MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, found));
    if (strcmp(found, name) == 0) return n;
  }
  return -1;
}

/* Collective. Check that the set exists and has this group, and create a communicator from it. */
static void use(const char* name, MPI_Group expected) {
  MPI_Group group;
  MPI_Info info;
  char text[32] = "";
  int same = MPI_UNEQUAL, members = 0, found = 0;
  EXPECT(index_of(name) >= 0, "%s is not listed", name);
  MUST(MPI_Group_from_session_pset(session, name, &group));
  MUST(MPI_Group_compare(group, expected, &same));
  EXPECT(same == MPI_IDENT, "%s has other processes, or in another order: %d", name, same);
  MUST(MPI_Group_size(group, &members));
  MUST(MPI_Session_get_pset_info(session, name, &info));
  MUST(MPI_Info_get(info, "mpi_size", sizeof text - 1, text, &found));
  EXPECT(found && atoi(text) == members, "mpi_size %s", text);
  MUST(MPI_Info_free(&info));
  use_group(group, name);
  MUST(MPI_Group_free(&group));
}

static void refused(void) {
  char name[MPI_MAX_PSET_NAME_LEN + 1];
  int me = rank;
  MPI_Group own = group_of(1, &me);
  memset(name, 'n', sizeof name);
  name[MPI_MAX_PSET_NAME_LEN] = 0;
  MUST_FAIL(MPI_ERR_ARG, MPIX_Session_publish_pset(session, name, own));
  MUST_FAIL(MPI_ERR_ARG, MPIX_Session_publish_pset(session, "", own));
  MUST_FAIL(MPI_ERR_ARG, MPIX_Session_publish_pset(session, NULL, own));
  MUST_FAIL(MPI_ERR_ARG, MPIX_Session_publish_pset(session, "mpi://mine", own));
  MUST_FAIL(MPI_ERR_ARG, MPIX_Session_publish_pset(session, "MPIX://NODE/mine", own));
  MUST_FAIL(MPI_ERR_GROUP, MPIX_Session_publish_pset(session, "empty", MPI_GROUP_EMPTY));
  MUST_FAIL(MPI_ERR_GROUP, MPIX_Session_publish_pset(session, "null", MPI_GROUP_NULL));
  EXPECT(index_of("empty") < 0, "the set exists");
  MUST(MPI_Group_free(&own));
}

/* All processes publish a set each at the same time, and all publish one equal set. */
static void many(void) {
  char name[64];
  MPI_Group own = group_of(1, &rank);
  MUST(PMPIX_Session_publish_pset(session, "all of us", world_group));
  sprintf(name, "of %d", rank);
  MUST(MPIX_Session_publish_pset(session, name, own));
  MUST(MPI_Barrier(world));
  for (int r = 0; r < size; ++r) {
    MPI_Group group = group_of(1, &r);
    sprintf(name, "of %d", r);
    use(name, group);
    MUST(MPI_Group_free(&group));
  }
  use("all of us", world_group);
  MUST(MPI_Group_free(&own));
}

/* Two processes publish different sets under one name at the same time: one or none succeeds, and
 * all processes see the same result. */
static void rivals(int round) {
  char name[64];
  int won = 0, all = 0, me = rank;
  MPI_Group own = group_of(1, &me), found;
  sprintf(name, "rivals %d", round);
  MUST(MPI_Barrier(world));
  if (rank == 0 || rank == size - 1) {
    int code = MPIX_Session_publish_pset(session, name, own), class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    EXPECT(class == MPI_SUCCESS || class == MPI_ERR_NAME, "class %d", class);
    won = class == MPI_SUCCESS ? rank + 1 : 0;
  }
  MUST(MPI_Allreduce(&won, &all, 1, MPI_INT, MPI_SUM, world));
  EXPECT(all == 0 || all == 1 || all == size, "both sets were published");
  if (all == 0) {
    MUST_FAIL(MPI_ERR_ARG, MPI_Group_from_session_pset(session, name, &found));
  } else {
    int winner = all - 1, same = MPI_UNEQUAL;
    MPI_Group expected = group_of(1, &winner);
    MUST(MPI_Group_from_session_pset(session, name, &found));
    MUST(MPI_Group_compare(found, expected, &same));
    EXPECT(same == MPI_IDENT, "not the published set");
    MUST(MPI_Group_free(&found));
    MUST(MPI_Group_free(&expected));
  }
  MUST(MPI_Group_free(&own));
}

/* Published sets remain when sessions end and begin. */
static void use_after_reinit(const char* name, MPI_Group expected) {
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  open_world("again");
  use(name, expected);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void measure(void) {
  MPI_Group own = group_of(1, &rank);
  int count;
  double begin = now_us(), first, published, queried;
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  first = now_us();
  if (rank == 0) MUST(MPIX_Session_publish_pset(session, "measured", own));
  published = now_us();
  MUST(MPI_Barrier(world));
  double before = now_us();
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  queried = now_us();
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  printf(
      "rank %d: first query %.0f us, publish %.0f us, query with a new set %.0f us, without %.0f "
      "us\n",
      rank, first - begin, published - first, queried - before, now_us() - queried);
  MUST(MPI_Group_free(&own));
}

int main(int argc, char** argv) {
  open_world("published");
  MUST(MPI_Comm_group(world, &world_group));
  if (argc > 1 && strcmp(argv[1], "measure") == 0) measure();
  int ranks[64], before = 0, own_place, word = 0;
  for (int i = 0; i < size; ++i) ranks[i] = size - 1 - i;
  MPI_Group backwards = group_of(size, ranks);
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &before));
  own_place = index_of("mpi://SELF");
  MUST(MPI_Barrier(world));
  if (rank == 0) {
    MUST_FAIL(MPI_ERR_ARG,
              MPI_Group_from_session_pset(session, "backwards", &(MPI_Group){MPI_GROUP_NULL}));
    MUST(MPIX_Session_publish_pset(session, "backwards", backwards));
    for (int r = 1; r < size; ++r) MUST(MPI_Send(&word, 1, MPI_INT, r, 0, world));
  } else {
    MUST(MPI_Recv(&word, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE));
  }
  EXPECT(index_of("backwards") >= before, "a new name must be the last one");
  EXPECT(index_of("mpi://SELF") == own_place, "the index of a name has changed");
  use("backwards", backwards);

  /* publishing an equal set again is no error; another set is an error for all, also the same
   * processes in another order */
  MUST(MPIX_Session_publish_pset(session, "backwards", backwards));
  int pair[1] = {0};
  MPI_Group other = group_of(1, pair);
  if (size > 1) {
    MUST_FAIL(MPI_ERR_NAME, MPIX_Session_publish_pset(session, "backwards", other));
    MUST_FAIL(MPI_ERR_NAME, MPIX_Session_publish_pset(session, "backwards", world_group));
  }
  use("backwards", backwards);
  refused();
  many();
  if (size > 1)
    for (int round = 0; round < 10; ++round) rivals(round);
  if (size > 1)
    use_after_reinit("backwards", backwards); /* without a launcher no other process keeps it */
  MUST(MPI_Group_free(&other));
  MUST(MPI_Group_free(&backwards));
  MUST(MPI_Group_free(&world_group));
  return close_world();
}
