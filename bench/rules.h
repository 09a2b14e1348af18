/* SPDX-License-Identifier: BSD-3-Clause */
/* What all measuring programs go by, those that use an MPI and those that do not. */
#ifndef BENCH_RULES_H
#define BENCH_RULES_H

enum { stream_window = 16 }; /* messages under way at once where bandwidth is measured */

/* So many operations that they take about so long, of one that takes `once` microseconds. */
static inline int rounds_within(double once, double milliseconds) {
  const double rounds = milliseconds * 1e3 / (once > 0.01 ? once : 0.01);
  return rounds < 3 ? 3 : rounds > 100000 ? 100000 : (int)rounds;
}

/* How long one takes is tried twice: what is used for the first time, a connection or a provider's memory, may take longer than all the rest. */
enum { first_trial_rounds = 3 };
static inline int second_trial_rounds(double first_trial, double milliseconds) { return rounds_within(first_trial, milliseconds / 4); }
static inline int rounds_after(double first_trial, double second_trial, double milliseconds) {
  return rounds_within(second_trial < first_trial ? second_trial : first_trial, milliseconds);
}

#endif
