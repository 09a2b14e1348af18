/* SPDX-License-Identifier: BSD-3-Clause */
/* many_creations N: N communicators one after the other in one session, from overlapping groups, each used and freed. Memory and
   descriptors do not grow with their number. (Of the node's shared memory pages are touched until each ring has been gone through
   once, 64 KiB a pair.) */
#include "footprint.h"
#include "use_group.h"

/* In turn all, all but the first, all but the second; those not in it go on. */
static void create_once(MPI_Group all, int round) {
  MPI_Group group;
  const int left_out = size < 3 ? -1 : round % 3 - 1;
  if (left_out == rank) return;
  if (left_out < 0) MUST(MPI_Group_excl(all, 0, NULL, &group));
  else MUST(MPI_Group_excl(all, 1, &left_out, &group));
  use_group(group, "test.many");
  MUST(MPI_Group_free(&group));
}

/* Whoever waits for the late one sleeps. What a process needs for that, a descriptor at which others ring, it has from its first sleep on, which
   may come late by itself. */
static void sleep_once(void) {
  for (int late = 0; late < 2; ++late) {
    const double until = MPI_Wtime() + 0.1;
    while (rank == late && MPI_Wtime() < until) continue;
    MUST(MPI_Barrier(world));
  }
}

int main(int argc, char **argv) {
  keep_malloc_tidy();
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  int descriptors = 0;
  long early_kib = 0;
  MPI_Group all;
  open_world("test.many_creations");
  MUST(MPI_Comm_group(world, &all));
  sleep_once();
  for (int round = 0; round < rounds; ++round) {
    create_once(all, round);
    if (round != rounds / 4) continue;
    descriptors = entries_of("/proc/self/fd", "");
    early_kib = resident_kib("RssAnon:");
  }
  const long growth_kib = resident_kib("RssAnon:") - early_kib;
  printf("rank %d: %ld KiB more after %d creations than after %d\n", rank, growth_kib, rounds, rounds / 4 + 1);
  EXPECT(growth_kib < 128, "memory grows");
  EXPECT(entries_of("/proc/self/fd", "") == descriptors, "%d descriptors instead of %d", entries_of("/proc/self/fd", ""), descriptors);
  MUST(MPI_Group_free(&all));
  return close_world();
}
