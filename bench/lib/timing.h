/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the time of an operation on a communicator. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <mpi.h>

#include "bench/lib/round_counts.h"

/* One measured operation. */
typedef void Operation(MPI_Comm comm, void* state);

/* Return microseconds of one operation at the slowest process. Barriers on `meet` precede and
 * follow. */
static double time_of_next(Operation* run, MPI_Comm comm, void* state, int rounds, MPI_Comm meet) {
  double mine, slowest;
  MPI_Barrier(meet);
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) run(comm, state);
  mine = (MPI_Wtime() - start) / rounds * 1e6;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, meet);
  return slowest;
}

/* Return microseconds of one operation, after one that is not counted. */
static double time_of(Operation* run, MPI_Comm comm, void* state, int rounds, MPI_Comm meet) {
  run(comm, state);
  return time_of_next(run, comm, state, rounds, meet);
}

/* Time the few rounds that are possible while the duration is unknown, or if it is long. */
static inline double first_trial(Operation* run, MPI_Comm comm, void* state, MPI_Comm meet) {
  return time_of(run, comm, state, first_trial_rounds, meet);
}

/* Return the rounds that take about `milliseconds`, after the first trial; equal at all processes.
 */
static int rounds_after_first(double first, Operation* run, MPI_Comm comm, void* state,
                              double milliseconds, MPI_Comm meet) {
  Trials trials = after_first_trial(first);
  while (!trials.is_over)
    record_trial(&trials, time_of(run, comm, state, rounds_of_trial(&trials, milliseconds), meet));
  int rounds = rounds_within(trials.shortest, milliseconds);
  MPI_Bcast(&rounds, 1, MPI_INT, 0, meet);
  return rounds;
}

static inline int rounds_for(Operation* run, MPI_Comm comm, void* state, double milliseconds,
                             MPI_Comm meet) {
  const double once = first_trial(run, comm, state, meet);
  return is_slow(once, milliseconds)
             ? first_trial_rounds
             : rounds_after_first(once, run, comm, state, milliseconds, meet);
}

#endif
