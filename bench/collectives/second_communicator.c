/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a second communicator: MPI_Comm_create_group natively, MPI_Comm_create_from_group here.
 *
 *   second_communicator [REPETITIONS [MILLISECONDS]]
 *
 * Prints the time if all processes arrive together, and rank 0's processor time if it arrives last:
 * the others' contributions have arrived, and they wait for its work. This is the time with a core
 * per process, except for the latency of a message. */
#include <time.h>
#include <unistd.h>

#include "bench/collectives/side_by_side.h"

enum { come_first_us = 3000, creations = 15 };

static MPI_Group of_world, of_session;

static void create(MPI_Comm comm, void* state) {
  MPI_Comm made;
  (void)state;
  if (comm == worlds.ours)
    MPI_Comm_create_from_group(of_session, "second", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  else
    MPI_Comm_create_group(comm, of_world, 1, &made);
  MPI_Comm_free(&made);
}

static double processor_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Return the median of a few. */
static double processor_us_of_last(MPI_Comm comm) {
  double taken[creations];
  for (int i = 0; i < creations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (bench_rank == 0) usleep(come_first_us);
    double start = processor_us();
    create(comm, NULL);
    taken[i] = processor_us() - start;
  }
  qsort(taken, creations, sizeof *taken, ascending);
  return taken[creations / 2];
}

int main(int argc, char** argv) {
  int repetitions = argc > 1 ? atoi(argv[1]) : 7;
  double milliseconds = argc > 2 ? atof(argv[2]) : 20;
  open_both(&argc, &argv, "intersession.bench.second");
  MPI_Comm_group(worlds.substrate, &of_world);
  MPI_Comm_group(worlds.ours, &of_session);
  compare("all at once,0", create, worlds, NULL, milliseconds, repetitions);
  for (int i = 0; i < repetitions; ++i) {
    double substrate = processor_us_of_last(worlds.substrate),
           ours = processor_us_of_last(worlds.ours);
    if (bench_rank == 0)
      printf("processor time of the last,0 substrate_us %.4f ours_us %.4f\n", substrate, ours);
  }
  MPI_Group_free(&of_world);
  MPI_Group_free(&of_session);
  return close_both();
}
