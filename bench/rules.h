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

#endif
