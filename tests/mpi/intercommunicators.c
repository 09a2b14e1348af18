/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests intercommunicators of session communicators: created in each way, used, duplicated, split
 * and merged. The model computes the members of both groups from ranks of the world. */
#include "session_world.h"

/* The world ranks of both groups, in the order of their ranks there. */
typedef struct {
  int local[64], remote[64], local_size, remote_size;
} Model;

/* Return the groups by colors of world ranks: all with color `mine`, and all with color `theirs`.
 */
static Model model_of(int (*color_of)(int), int mine, int theirs) {
  Model model = {.local_size = 0, .remote_size = 0};
  for (int r = 0; r < size; ++r) {
    if (color_of(r) == mine) model.local[model.local_size++] = r;
    if (color_of(r) == theirs) model.remote[model.remote_size++] = r;
  }
  return model;
}

static void check_group(MPI_Group group, const int* members, int count) {
  MPI_Group all;
  int n, in_world[64], ranks[64];
  MUST(MPI_Comm_group(world, &all));
  MUST(MPI_Group_size(group, &n));
  EXPECT(n == count, "%d members, not %d", n, count);
  for (int i = 0; i < n; ++i) ranks[i] = i;
  MUST(MPI_Group_translate_ranks(group, n, ranks, all, in_world));
  for (int i = 0; i < n && i < count; ++i)
    EXPECT(in_world[i] == members[i], "member %d is %d, not %d", i, in_world[i], members[i]);
  MUST(MPI_Group_free(&all));
}

/* Each member sends to each member of the remote group; wildcards, probes and sources use remote
 * ranks. */
static void exercise(MPI_Comm inter, const Model* model, int salt) {
  int r, n, remote, is_inter = 0, own = -1;
  MPI_Group group;
  MUST(MPI_Comm_test_inter(inter, &is_inter));
  EXPECT(is_inter, "no intercommunicator");
  MUST(MPI_Comm_rank(inter, &r));
  MUST(MPI_Comm_size(inter, &n));
  MUST(MPI_Comm_remote_size(inter, &remote));
  EXPECT(n == model->local_size && remote == model->remote_size, "%d and %d", n, remote);
  for (int i = 0; i < model->local_size; ++i)
    if (model->local[i] == rank) own = i;
  EXPECT(r == own, "rank %d, not %d", r, own);
  MUST(MPI_Comm_group(inter, &group));
  check_group(group, model->local, model->local_size);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_remote_group(inter, &group));
  check_group(group, model->remote, model->remote_size);
  MUST(MPI_Group_free(&group));

  MPI_Request requests[64];
  int sent[64];
  for (int i = 0; i < remote; ++i) {
    sent[i] = rank * 10000 + i * 100 + salt;
    MUST(MPI_Isend(&sent[i], 1, MPI_INT, i, 3, inter, &requests[i]));
  }
  for (int i = 0; i < remote; ++i) {
    int got = -1;
    MPI_Status status;
    if (i % 2 == 0) {
      MUST(MPI_Recv(&got, 1, MPI_INT, i, 3, inter, &status));
      EXPECT(status.MPI_SOURCE == i, "source %d", status.MPI_SOURCE);
    } else {
      MUST(MPI_Probe(i, 3, inter, &status));
      MUST(MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, inter, &status));
    }
    EXPECT(got == model->remote[i] * 10000 + r * 100 + salt, "member %d sent %d", i, got);
  }
  MUST(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
}

static void exercise_intra(MPI_Comm comm) {
  int r, n, sum = 0;
  MUST(MPI_Comm_rank(comm, &r));
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == n * (n - 1) / 2, "sum %d", sum);
}

static int comparison(MPI_Comm a, MPI_Comm b) {
  int result = -1;
  MUST(MPI_Comm_compare(a, b, &result));
  return result;
}

static int parity(int r) { return r % 2; }
static int half(int r) { return r < (size + 1) / 2; }
static int tail(int r) { return r == size - 1; }

/* Create the intercommunicator of the two groups that a coloring of the world makes. The last
 * member of each group is its leader. */
static MPI_Comm make(int (*color_of)(int), int tag, MPI_Comm* local) {
  MPI_Comm inter;
  Model model = model_of(color_of, color_of(rank), !color_of(rank));
  int n;
  MUST(MPI_Comm_split(world, color_of(rank), rank, local));
  MUST(MPI_Comm_size(*local, &n));
  int is_leader = model.local[n - 1] == rank;
  MUST(MPI_Intercomm_create(*local, n - 1, is_leader ? world : MPI_COMM_NULL,
                            is_leader ? model.remote[model.remote_size - 1] : -5,
                            is_leader ? tag : -1, &inter));
  return inter;
}

static void check_merge(MPI_Comm inter, const Model* model, int high) {
  MPI_Comm merged;
  MPI_Group group;
  int members[64], n = 0, local_first = !high;
  MUST(MPI_Intercomm_merge(inter, high, &merged));
  for (int pass = 0; pass < 2; ++pass) {
    const int is_local = (pass == 0) == local_first;
    const int* side = is_local ? model->local : model->remote;
    for (int i = 0; i < (is_local ? model->local_size : model->remote_size); ++i)
      members[n++] = side[i];
  }
  MUST(MPI_Comm_group(merged, &group));
  check_group(group, members, n);
  MUST(MPI_Group_free(&group));
  exercise_intra(merged);
  MUST(MPI_Comm_free(&merged));
}

static void all_of(int (*color_of)(int), int tag) {
  MPI_Comm local, copy, merged, inter = make(color_of, tag, &local);
  const int color = color_of(rank);
  Model model = model_of(color_of, color, !color);
  exercise(inter, &model, 1);
  EXPECT(comparison(inter, inter) == MPI_IDENT, "not MPI_IDENT with itself");
  EXPECT(comparison(inter, local) == MPI_UNEQUAL, "not MPI_UNEQUAL with an intracommunicator");
  MUST(MPI_Comm_dup(inter, &copy));
  EXPECT(comparison(inter, copy) == MPI_CONGRUENT, "a duplicate is not congruent");
  exercise(copy, &model, 2);
  exercise(inter, &model, 3);
  for (int depth = 0; depth < 7;
       ++depth) { /* deeper than context ids without communication allow */
    MPI_Comm next;
    MUST(MPI_Comm_dup(copy, &next));
    MUST(MPI_Comm_free(&copy));
    copy = next;
    exercise(copy, &model, depth);
  }
  for (int i = 0; i < 200; ++i) { /* more than there are context ids */
    MPI_Comm one;
    MUST(MPI_Comm_dup(inter, &one));
    if (i % 40 == 0) exercise(one, &model, i);
    MUST(MPI_Comm_free(&one));
  }
  MUST(MPI_Comm_free(&local)); /* the intercommunicator does not need its local communicator */
  check_merge(inter, &model, color);
  check_merge(copy, &model, !color);
  MUST(MPI_Intercomm_merge(inter, 0,
                           &merged)); /* any order is allowed, but the same at all members */
  exercise_intra(merged);
  MUST(MPI_Comm_free(&merged));
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&inter));
}

/* Split both groups; a part without a counterpart gets MPI_COMM_NULL. */
static void splits(void) {
  MPI_Comm local, part, reversed, inter = make(parity, 8, &local);
  int r, n, counterpart = 0;
  MUST(MPI_Comm_rank(inter, &r));
  Model whole = model_of(parity, rank % 2, !(rank % 2)),
        model = {.local_size = 0, .remote_size = 0};
  MUST(MPI_Comm_split(inter, r % 3, r, &part));
  for (int i = 0; i < whole.local_size; ++i)
    if (i % 3 == r % 3) model.local[model.local_size++] = whole.local[i];
  for (int i = 0; i < whole.remote_size; ++i)
    if (i % 3 == r % 3) model.remote[model.remote_size++] = whole.remote[i], counterpart = 1;
  EXPECT((part != MPI_COMM_NULL) == counterpart, "a part with %d counterparts", counterpart);
  if (part != MPI_COMM_NULL) {
    exercise(part, &model, 5);
    MUST(MPI_Comm_free(&part));
  }
  MUST(MPI_Comm_split(inter, 4, -r, &reversed));
  MUST(MPI_Comm_size(reversed, &n));
  MUST(MPI_Comm_rank(reversed, &r));
  EXPECT(whole.local[n - 1 - r] == rank, "rank %d in reversed order", r);
  EXPECT(comparison(inter, reversed) == (size <= 2 ? MPI_CONGRUENT : MPI_SIMILAR), "not similar");
  MUST(MPI_Comm_free(&reversed));
  MUST(MPI_Comm_split(inter, rank % 2 ? MPI_UNDEFINED : 1, 0,
                      &part)); /* one group uses MPI_UNDEFINED */
  EXPECT(part == MPI_COMM_NULL, "a communicator with one group");

  MPI_Group group, first;
  MUST(MPI_Comm_group(inter, &group)); /* MPI_Comm_create with the first process of each side */
  MUST(MPI_Group_incl(group, 1, (int[]){0}, &first));
  MUST(MPI_Comm_create(inter, first, &part));
  EXPECT((part != MPI_COMM_NULL) == (rank < 2), "MPI_Comm_create");
  if (part != MPI_COMM_NULL) {
    model = (Model){.local = {rank}, .remote = {!rank}, .local_size = 1, .remote_size = 1};
    exercise(part, &model, 6);
    MUST(MPI_Comm_free(&part));
  }
  MUST(MPI_Comm_create(inter, rank % 2 ? MPI_GROUP_EMPTY : first, &part));
  EXPECT(part == MPI_COMM_NULL, "a communicator with one group");
  MUST(MPI_Group_free(&first));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&local));
}

/* Find the node of each world rank; its number is its lowest world rank. */
static void find_nodes(int* node_of) {
  MPI_Comm node;
  int first = rank;
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  MUST(MPI_Bcast(&first, 1, MPI_INT, 0, node));
  MUST(MPI_Comm_free(&node));
  MUST(MPI_Allgather(&first, 1, MPI_INT, node_of, 1, MPI_INT, world));
}

/* A part of an intercommunicator that is split by MPI_COMM_TYPE_SHARED has the processes of one
 * node in both groups. */
static void splits_by_type(void) {
  MPI_Comm local, part, inter = make(parity, 10, &local);
  MPI_Info shared_memory;
  int node_of[64];
  find_nodes(node_of);
  Model whole = model_of(parity, rank % 2, !(rank % 2)),
        model = {.local_size = 0, .remote_size = 0};
  for (int i = 0; i < whole.local_size; ++i)
    if (node_of[whole.local[i]] == node_of[rank]) model.local[model.local_size++] = whole.local[i];
  for (int i = 0; i < whole.remote_size; ++i)
    if (node_of[whole.remote[i]] == node_of[rank])
      model.remote[model.remote_size++] = whole.remote[i];
  MUST(MPI_Info_create(&shared_memory));
  MUST(MPI_Info_set(shared_memory, "mpi_hw_resource_type", "mpi_shared_memory"));
  const int kinds[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED,
                       MPI_COMM_TYPE_RESOURCE_GUIDED};
  for (int i = 0; i < 3; ++i) {
    MUST(MPI_Comm_split_type(inter, kinds[i], rank, i > 0 ? shared_memory : MPI_INFO_NULL, &part));
    EXPECT((part != MPI_COMM_NULL) == (model.remote_size > 0),
           "kind %d, %d processes on the other side", i, model.remote_size);
    if (part == MPI_COMM_NULL) continue;
    exercise(part, &model, 50 + i);
    MUST(MPI_Comm_free(&part));
  }
  MUST(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
  EXPECT(part == MPI_COMM_NULL, "a communicator of MPI_UNDEFINED");
  MUST_FAIL(MPI_ERR_COMM,
            MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part));
  MUST(MPI_Info_free(&shared_memory));
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&local));
}

/* Create between two groups that are not all processes; each process passes its own group, and the
 * remote group is significant only at the leader. */
static void from_groups(void) {
  MPI_Group all, mine, theirs;
  MPI_Comm inter;
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  if (size < 3 || rank != 1) { /* rank 1 does not take part */
    const int color = size < 3 ? rank : rank > 1;
    int own[64], other[64], n = 0, m = 0;
    for (int r = 0; r < size; ++r) {
      if (size >= 3 && r == 1) continue;
      if ((size < 3 ? r : r > 1) == color)
        own[n++] = r;
      else
        other[m++] = r;
    }
    MUST(MPI_Group_incl(all, n, own, &mine));
    MUST(MPI_Group_incl(all, m, other, &theirs));
    for (int round = 0; round < 3; ++round) {
      const int leader = round % n, is_leader = own[leader] == rank;
      MUST(MPI_Intercomm_create_from_groups(mine, leader, is_leader ? theirs : MPI_GROUP_NULL,
                                            is_leader ? 0 : -1, "test.inter.groups", MPI_INFO_NULL,
                                            MPI_ERRORS_RETURN, &inter));
      Model model = {.local_size = n, .remote_size = m};
      memcpy(model.local, own, sizeof own);
      memcpy(model.remote, other, sizeof other);
      exercise(inter, &model, 20 + round);
      check_merge(inter, &model, color);
      MUST(MPI_Comm_free(&inter));
    }
    MUST(MPI_Group_free(&theirs));
    MUST(MPI_Intercomm_create_from_groups(mine, 0, MPI_GROUP_EMPTY, 0, "none", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &inter));
    EXPECT(inter == MPI_COMM_NULL, "of an empty group");
    MUST(MPI_Group_free(&mine));
  }
  MUST(MPI_Group_free(&all));
}

/* An error at one leader is reported to its whole group; an error at all members is found locally.
 */
static void misuse(void) {
  MPI_Comm local, none = MPI_COMM_NULL, inter = make(parity, 9, &local);
  MPI_Group group;
  int n, dummy = 0;
  MUST(MPI_Comm_size(local, &n));
  MUST_FAIL(MPI_ERR_RANK, MPI_Intercomm_create(local, 0, world, size, 1, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 1, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_create(local, 0, inter, 0, 1, &none));
  MUST_FAIL(MPI_ERR_TAG, MPI_Intercomm_create(local, 0, world, 0, -1, &none));
  MUST_FAIL(MPI_ERR_RANK, MPI_Intercomm_create(local, n, world, 0, 1, &none));
  MUST_FAIL(MPI_ERR_RANK, MPI_Intercomm_create(local, -1, world, 0, 1, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_create(inter, 0, world, 0, 1, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_create(world, 0, world, 1, 1,
                                               &none)); /* both groups have the same processes */
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_create(world, 0, world, 0, 1, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Intercomm_merge(local, 0, &none));
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_remote_size(local, &dummy));
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_remote_group(local, &group));
  MUST_FAIL(MPI_ERR_COMM, MPI_Cart_create(inter, 1, (int[]){1}, (int[]){0}, 0, &none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_split(inter, -7, 0, &none));
  int remote;
  MUST(MPI_Comm_remote_size(inter, &remote));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&dummy, 1, MPI_INT, remote, 0, inter));
  MUST_FAIL(MPI_ERR_RANK, MPI_Recv(&dummy, 1, MPI_INT, remote, 0, inter, MPI_STATUS_IGNORE));
  MUST(MPI_Comm_group(world, &group));
  MUST_FAIL(MPI_ERR_GROUP,
            MPI_Intercomm_create_from_groups(group, 0, group, 0, "same", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &none));
  MUST_FAIL(MPI_ERR_RANK,
            MPI_Intercomm_create_from_groups(group, size, group, 0, "leader", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &none));
  MUST_FAIL(MPI_ERR_GROUP,
            MPI_Intercomm_create_from_groups(group, 0, MPI_GROUP_NULL, 0, "null", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &none));
  MUST(MPI_Group_free(&group));
  EXPECT(none == MPI_COMM_NULL, "a communicator although the call failed");
  if (n > 1) { /* members of one group pass different values of high */
    MPI_Comm merged = MPI_COMM_NULL;
    int r;
    MUST(MPI_Comm_rank(inter, &r));
    MUST_FAIL(MPI_ERR_ARG, MPI_Intercomm_merge(inter, r % 2, &merged));
  }
  Model model = model_of(parity, rank % 2, !(rank % 2));
  exercise(inter, &model, 40);
  MUST(MPI_Comm_free(&local));
  MUST(MPI_Comm_disconnect(&inter));
}

int main(void) {
  open_world("test.intercommunicators");
  if (size > 1) {
    all_of(parity, 5);
    all_of(half, 6);
    all_of(tail, 7);
    splits();
    splits_by_type();
    from_groups();
  }
  if (size == 2 || size > 3)
    misuse(); /* with three processes, one group has one member and cannot disagree */
  return close_world();
}
