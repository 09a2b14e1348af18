/* SPDX-License-Identifier: BSD-3-Clause */
/* For test programs that compare collectives with a model: random arguments, and buffers that are compared whole. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "forms.h"
#include "layouts.h"

/* A number from everybody's sequence (all draw the same ones), or from this process's own. */
static unsigned long all_state, own_state;
static inline int draw(unsigned long *state, int below) {
  *state = *state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((*state >> 33) % (unsigned long)below);
}
static inline int all_draw(int below) { return draw(&all_state, below); }
static inline int own_draw(int below) { return draw(&own_state, below); }

static struct buffer sent, got, expected;

/* What was received is what the model says. */
static inline void compare(const char *what, enum form form) {
  int wrong = 0, first = -1;
  for (int i = 0; i < CELLS; ++i)
    if (got.cell[i] != expected.cell[i] && wrong++ == 0) first = i;
  EXPECT(wrong == 0, "%s, %s: %d cells wrong, the first is %d: %ld, not %ld", what, form_names[form], wrong, first - ORIGIN,
         got.cell[first], expected.cell[first]);
}
static inline void begin(void) {
  blank(&sent, 1);
  blank(&got, 2);
}

/* Calls `body` for every form in every round, each with a seed of its own. INTERSESSION_TEST_SEED is the first one, else 1. */
static inline void for_rounds(int rounds, void (*body)(enum form)) {
  const char *given = getenv("INTERSESSION_TEST_SEED");
  unsigned long seed = given != NULL ? strtoul(given, NULL, 10) : 1;
  for (int round = 0; round < rounds && failures == 0; ++round, ++seed) {
    all_state = seed;
    own_state = seed * 31 + (unsigned long)rank + 1;
    for (enum form form = 0; form < FORMS; ++form) body(form);
    if (failures > 0) fprintf(stderr, "rank %d: failed at seed %lu\n", rank, seed);
  }
}

#endif
