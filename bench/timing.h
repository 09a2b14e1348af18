/* SPDX-License-Identifier: BSD-3-Clause */
/* How long an operation on a communicator takes. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <mpi.h>

#include "rules.h"

/* One operation of what is measured. */
typedef void Operation(MPI_Comm comm, void *state);

/* Microseconds of one operation, the slowest process's. All processes meet on `meet` before and after. */
static double time_of_next(Operation *run, MPI_Comm comm, void *state, int rounds, MPI_Comm meet) {
  double mine, slowest;
  MPI_Barrier(meet);
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) run(comm, state);
  mine = (MPI_Wtime() - start) / rounds * 1e6;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, meet);
  return slowest;
}

/* The same after one operation that is not counted. */
static double time_of(Operation *run, MPI_Comm comm, void *state, int rounds, MPI_Comm meet) {
  run(comm, state);
  return time_of_next(run, comm, state, rounds, meet);
}

/* As often as may be where nobody knows yet how long it takes, or it takes long. */
static inline double first_trial(Operation *run, MPI_Comm comm, void *state, MPI_Comm meet) {
  return time_of(run, comm, state, first_trial_rounds, meet);
}

/* So many operations that they take about so long, after the first trial; the same number at all processes. */
static int rounds_after_first(double first, Operation *run, MPI_Comm comm, void *state, double milliseconds, MPI_Comm meet) {
  Trials trials = after_first_trial(first);
  while (!trials.is_over) note_trial(&trials, time_of(run, comm, state, rounds_of_trial(&trials, milliseconds), meet));
  int rounds = rounds_within(trials.shortest, milliseconds);
  MPI_Bcast(&rounds, 1, MPI_INT, 0, meet);
  return rounds;
}

static inline int rounds_for(Operation *run, MPI_Comm comm, void *state, double milliseconds, MPI_Comm meet) {
  const double once = first_trial(run, comm, state, meet);
  return is_slow(once, milliseconds) ? first_trial_rounds : rounds_after_first(once, run, comm, state, milliseconds, meet);
}

#endif
