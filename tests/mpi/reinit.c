/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests repeated initialisation: argv[1] sessions, one after the other, each with a communicator
 * that is used. Between two sessions no thread, descriptor or shared memory of Intersession
 * remains, and memory does not grow. PMIx remains initialised from the first session on
 * (docs/decisions/0020-pmix-stays-initialized.md): its thread and its descriptors remain. */
#include "footprint.h"

/* Return the number of threads, after it has dropped to `most` or a second has passed: the kernel
 * lists a joined thread for a moment longer, because pthread_join waits for a word that the thread
 * clears, and not for the end of its entry in /proc. */
static int wait_for_thread_count(int most) {
  int threads;
  for (int tries = 0; (threads = entries_of("/proc/self/task", "")) > most && tries < 1000; ++tries)
    usleep(1000);
  return threads;
}

/* Open, use and close a session; the messages differ from round to round. */
static void once(int round) {
  open_world("test.reinit");
  int value = rank + round, sum = 0;
  MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2 + size * round, "round %d: sum %d", round, sum);
  MUST(MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, round, (rank + size - 1) % size,
                            round, world, MPI_STATUS_IGNORE));
  EXPECT(value == (rank + size - 1) % size + round, "round %d: got %d", round, value);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  keep_malloc_tidy();
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  int before = entries_of("/proc/self/task", ""), threads = 0, descriptors = 0;
  long early_kib = 0;
  for (int round = 0; round < rounds; ++round) {
    once(round);
    if (round == 0) {
      threads = wait_for_thread_count(before); /* over PMIx, its thread remains */
      descriptors = entries_of("/proc/self/fd", "");
      EXPECT(threads <= before + 1, "%d threads instead of %d and PMIx's", threads, before);
    }
    int now = wait_for_thread_count(threads);
    EXPECT(now <= threads, "round %d: %d threads instead of %d", round, now, threads);
    threads = now; /* a thread that a library began before main() may end */
    EXPECT(entries_of("/proc/self/fd", "") == descriptors, "round %d: %d descriptors instead of %d",
           round, entries_of("/proc/self/fd", ""), descriptors);
    if (round == rounds / 4) early_kib = resident_kib("RssAnon:");
  }
  long growth_kib = resident_kib("RssAnon:") - early_kib;
  printf("rank %d: %ld KiB more after %d rounds than after %d\n", rank, growth_kib, rounds,
         rounds / 4 + 1);
  EXPECT(growth_kib < 256, "memory grows");
  return verdict();
}
