/* SPDX-License-Identifier: BSD-3-Clause */
/* many_creations N: creates N communicators in one session, one after the other, from overlapping
 * groups, and uses and frees each. Memory and descriptors must not grow with their number. (Pages
 * of the node's shared memory are first touched until each ring has been used once, 64 KiB per
 * pair.) */
#include "footprint.h"
#include "use_group.h"

/* Create over all processes, all but the first, or all but the second, by round; the others
 * continue. */
static void create_once(MPI_Group all, int round) {
  MPI_Group group;
  const int left_out = size < 3 ? -1 : round % 3 - 1;
  if (left_out == rank) return;
  if (left_out < 0)
    MUST(MPI_Group_excl(all, 0, NULL, &group));
  else
    MUST(MPI_Group_excl(all, 1, &left_out, &group));
  use_group(group, "test.many");
  MUST(MPI_Group_free(&group));
}

/* Make each process sleep once: the socket that peers write to wake it is opened at its first sleep
 * over several nodes, which otherwise may happen late. The job sets INTERSESSION_YIELD, so that a
 * wait of 0.1 s includes a sleep. */
static void sleep_once(void) {
  for (int late = 0; late < 2; ++late) {
    const double until = MPI_Wtime() + 0.1;
    while (rank == late && MPI_Wtime() < until) continue;
    MUST(MPI_Barrier(world));
  }
}

/* Connect to each process: on a slow machine a process that waits for a peer connects to it to see
 * whether it lives, which otherwise may happen late. */
static void connect_to_all(void) {
  for (int distance = 1; distance < size; ++distance) {
    int sent = rank, received;
    const int to = (rank + distance) % size, from = (rank + size - distance) % size;
    MUST(MPI_Sendrecv(&sent, 1, MPI_INT, to, 0, &received, 1, MPI_INT, from, 0, world,
                      MPI_STATUS_IGNORE));
    EXPECT(received == from, "%d instead of %d", received, from);
  }
}

int main(int argc, char** argv) {
  keep_malloc_tidy();
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  int descriptors = 0;
  char* earlier = NULL;
  long early_kib = 0;
  MPI_Group all;
  open_world("test.many_creations");
  MUST(MPI_Comm_group(world, &all));
  connect_to_all();
  sleep_once();
  for (int round = 0; round < rounds; ++round) {
    create_once(all, round);
    if (round != rounds / 4) continue;
    descriptors = entries_of("/proc/self/fd", "");
    earlier = describe_descriptors();
    early_kib = resident_kib("RssAnon:");
  }
  const long growth_kib = resident_kib("RssAnon:") - early_kib;
  printf("rank %d: %ld KiB more after %d creations than after %d\n", rank, growth_kib, rounds,
         rounds / 4 + 1);
  EXPECT(growth_kib < 128, "memory grows");
  const int now = entries_of("/proc/self/fd", "");
  EXPECT(now == descriptors, "%d descriptors instead of %d", now, descriptors);
  if (now != descriptors) {
    char* later = describe_descriptors();
    fprintf(stderr, "earlier:\n%slater:\n%s", earlier, later);
    free(later);
  }
  free(earlier);
  MUST(MPI_Group_free(&all));
  return close_world();
}
