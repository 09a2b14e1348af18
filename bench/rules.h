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

/* Of one that takes so many microseconds: three take as long as a row is to take, and a moment that it spends without its core is no large part of it. The
 * second trial of three tells it. */
enum { first_trial_rounds = 3 };
static inline int is_slow(double once, double milliseconds) { return once >= 15000 && (int)first_trial_rounds * once >= milliseconds * 1e3; }

/* How long one takes is tried before it is measured, until that becomes no shorter: what is used for the first time, a connection, memory or a
 * provider's, takes longer, in the first operations or the first thousand. First a few, then as many as take a quarter of the time. */
enum { most_trials = 16 };
typedef struct {
  double shortest;
  int made, is_over;
} Trials;

static inline Trials after_first_trial(double once) {
  Trials trials = {once, 1, 0};
  return trials;
}
static inline int rounds_of_trial(const Trials *trials, double milliseconds) { return rounds_within(trials->shortest, milliseconds / 4); }
static inline void note_trial(Trials *trials, double once) {
  enum { shorter_percent = 5 };
  trials->is_over = ++trials->made == most_trials || once * 100 > trials->shortest * (100 - shorter_percent);
  if (once < trials->shortest) trials->shortest = once;
}

#endif
