/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of rounds in all benchmark programs, with and without MPI. */
#ifndef BENCH_ROUND_COUNTS_H
#define BENCH_ROUND_COUNTS_H

enum { stream_window = 16 }; /* messages in flight in bandwidth tests */

/* Return the rounds that take about `milliseconds`, for operations of `once` microseconds. */
static inline int rounds_within(double once, double milliseconds) {
  const double rounds = milliseconds * 1e3 / (once > 0.01 ? once : 0.01);
  return rounds < 3 ? 3 : rounds > 100000 ? 100000 : (int)rounds;
}

/* True if an operation of `once` microseconds is slow: three of them take a whole row, and a moment
 * without a core is a small part. The second trial of three is then the result. */
enum { first_trial_rounds = 3 };
static inline int is_slow(double once, double milliseconds) {
  return once >= 15000 && (int)first_trial_rounds * once >= milliseconds * 1e3;
}

/* Trials before a measurement, until they become no shorter: first uses (connections, memory, of a
 * provider) are slower for one to a thousand operations. The first trial has few rounds, later ones
 * a quarter of the time. */
enum { most_trials = 16 };
typedef struct {
  double shortest;
  int made, is_over;
} Trials;

static inline Trials after_first_trial(double once) {
  Trials trials = {once, 1, 0};
  return trials;
}
static inline int rounds_of_trial(const Trials* trials, double milliseconds) {
  return rounds_within(trials->shortest, milliseconds / 4);
}
static inline void record_trial(Trials* trials, double once) {
  enum { shorter_percent = 5 };
  trials->is_over = ++trials->made == most_trials ||
                    once * 100 > trials->shortest * (100 - shorter_percent);
  if (once < trials->shortest) trials->shortest = once;
}

#endif
