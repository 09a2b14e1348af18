/* SPDX-License-Identifier: BSD-3-Clause */
/* Random arguments and whole-buffer comparison for tests of collectives against a model. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include "forms.h"
#include "layouts.h"

/* Draw a random number: all_draw() gives the same sequence in all processes, own_draw() one per
 * process. */
static unsigned long all_state, own_state;
static inline int draw(unsigned long* state, int below) {
  *state = *state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((*state >> 33) % (unsigned long)below);
}
static inline int all_draw(int below) { return draw(&all_state, below); }
static inline int own_draw(int below) { return draw(&own_state, below); }

static struct buffer sent, got, expected;

/* Compare the receive buffer with the model. */
static inline void compare(const char* what, enum form form) {
  int wrong = 0, first = -1;
  for (int i = 0; i < CELLS; ++i)
    if (got.cell[i] != expected.cell[i] && wrong++ == 0) first = i;
  EXPECT(wrong == 0, "%s, %s: %d cells wrong, the first is %d: %ld, not %ld", what,
         form_names[form], wrong, first - ORIGIN, got.cell[first], expected.cell[first]);
}
static inline void begin(void) {
  blank(&sent, 1);
  blank(&got, 2);
}

/* Call `body` for each form in each round, each with its own seed. INTERSESSION_TEST_SEED sets the
 * first seed; default 1. */
static inline void for_rounds(int rounds, void (*body)(enum form)) {
  const char* given = getenv("INTERSESSION_TEST_SEED");
  unsigned long seed = given != NULL ? strtoul(given, NULL, 10) : 1;
  for (int round = 0; round < rounds && failures == 0; ++round, ++seed) {
    all_state = seed;
    own_state = seed * 31 + (unsigned long)rank + 1;
    for (enum form form = 0; form < FORMS; ++form) body(form);
    if (failures > 0) fprintf(stderr, "rank %d: failed at seed %lu\n", rank, seed);
  }
}

#endif
