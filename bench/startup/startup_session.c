/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the start of a session: communicators of the process and the world, and first uses.
 * With "sparse", communicators of the node and of node leaders replace the world's. */
#include "bench/startup/startup.h"

/* Missing in native MPI libraries with sessions. */
int MPIX_Session_get_counts(MPI_Session session, MPI_Info* counts) __attribute__((weak));

static MPI_Comm make(MPI_Group group, const char* tag) {
  MPI_Comm comm;
  check(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), tag);
  return comm;
}

static MPI_Group group_of(MPI_Session session, const char* pset) {
  MPI_Group group;
  check(MPI_Group_from_session_pset(session, pset, &group), pset);
  return group;
}

/* Return the first process of each node, in the order of the world. Local. */
static MPI_Group group_of_roots(MPI_Session session, MPI_Group world) {
  int psets, size, count = 0;
  MPI_Group roots;
  MPI_Group_size(world, &size);
  char* is_root = calloc((size_t)size, 1);
  int* ranks = malloc(sizeof *ranks * (size_t)size);
  check(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &psets), "MPI_Session_get_num_psets");
  for (int i = 0; i < psets; ++i) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof name, first = 0, in_world;
    check(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name),
          "MPI_Session_get_nth_pset");
    if (strncmp(name, "mpix://NODE/", 12) != 0) continue;
    MPI_Group node = group_of(session, name);
    MPI_Group_translate_ranks(node, 1, &first, world, &in_world);
    is_root[in_world] = 1;
    MPI_Group_free(&node);
  }
  for (int i = 0; i < size; ++i)
    if (is_root[i]) ranks[count++] = i;
  check(MPI_Group_incl(world, count, ranks, &roots), "the group of node leaders");
  free(is_root);
  free(ranks);
  return roots;
}

/* Create the communicators. Collective. */
static Reach make_reach(const Words* words, MPI_Session session, MPI_Group world) {
  Reach reach = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  if (!words->sparse) {
    reach.all = make(world, "intersession.bench.world");
    return reach;
  }
  MPI_Group node = group_of(session, "mpix://SHARED"), roots = group_of_roots(session, world);
  int rank;
  reach.node = make(node, "intersession.bench.node");
  MPI_Group_rank(roots, &rank);
  if (rank != MPI_UNDEFINED) reach.roots = make(roots, "intersession.bench.roots");
  MPI_Group_free(&node);
  MPI_Group_free(&roots);
  return reach;
}

/* Time another communicator of all processes that arrive together. Collective. */
static void time_second(Phases* phases, MPI_Group world, MPI_Comm all) {
  enum { kTimes = 5 };
  double times[kTimes];
  for (int i = 0; i < kTimes; ++i) {
    check(MPI_Barrier(all), "MPI_Barrier");
    double start = now_ms();
    MPI_Comm comm = make(world, "intersession.bench.second");
    times[i] = now_ms() - start;
    MPI_Comm_free(&comm);
  }
  add_phase(phases, "second_comm", median(times, kTimes));
}

/* Print a line per count; `when` names the operations so far. Collective. */
static void report_counts(const Phases* phases, const Reach* reach, MPI_Session session, int size,
                          const char* when) {
  MPI_Info info;
  int keys;
  if (!phases->words->counts) return;
  check(MPIX_Session_get_counts(session, &info), "MPIX_Session_get_counts");
  check(MPI_Info_get_nkeys(info, &keys), "MPI_Info_get_nkeys");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[32];
    int found;
    double mine, largest, sum;
    check(MPI_Info_get_nthkey(info, i, key), "MPI_Info_get_nthkey");
    check(MPI_Info_get(info, key, sizeof value - 1, value, &found), "MPI_Info_get");
    mine = strtod(value, NULL);
    reduce_to_first(reach, &mine, &largest, 1, MPI_MAX);
    reduce_to_first(reach, &mine, &sum, 1, MPI_SUM);
    if (phases->rank == 0)
      printf("%s.%s max_count %.0f mean_count %.4f\n", when, key, largest, sum / size);
  }
  MPI_Info_free(&info);
}

static void free_comm(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

/* Simulate a program's own work. */
static void work(double ms) {
  const double until = now_ms() + ms;
  while (now_ms() < until) continue;
}

int main(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  Phases phases = start_phases(&words);
  MPI_Session session;
  int size;
  const double start = now_ms();
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  end_phase(&phases, "session_init");
  work(words.work_ms);
  phases.began = now_ms();
  MPI_Group self_group = group_of(session, "mpi://SELF");
  MPI_Comm self = make(self_group, "intersession.bench.self");
  end_phase(&phases, "self_comm");
  MPI_Group world_group = group_of(session, "mpi://WORLD");
  Reach reach = make_reach(&words, session, world_group);
  end_phase(&phases, words.sparse ? "sparse_comms" : "world_comm");
  if (!words.memory) add_phase(&phases, "session_total", now_ms() - start - words.work_ms);
  MPI_Group_size(world_group, &size);
  MPI_Group_rank(world_group, &phases.rank);
  report_counts(&phases, &reach, session, size, "created");
  if (words.more) {
    phases.began = now_ms();
    time_allreduce(&phases, &reach, size);
    report(&phases, &reach, size);
    if (!words.sparse) {
      time_second(&phases, world_group, reach.all);
      time_dup(&phases, reach.all);
      time_first_messages(&phases, reach.all, words.peers);
    }
    report_counts(&phases, &reach, session, size, "used");
  }
  report(&phases, &reach, size);
  leave_if_asked(&words, &reach);
  free_comm(&self);
  free_comm(&reach.all);
  free_comm(&reach.node);
  free_comm(&reach.roots);
  MPI_Group_free(&self_group);
  MPI_Group_free(&world_group);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
  return 0;
}
