/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the counters of the session of session_world.h (docs/user/counts.md). */
#ifndef TESTS_SESSION_COUNTS_H
#define TESTS_SESSION_COUNTS_H

#include "session_world.h"

static long count_of(MPI_Info counts, const char* key) {
  char text[32];
  int found = 0;
  MUST(MPI_Info_get(counts, key, sizeof text - 1, text, &found));
  EXPECT(found, "no key %s", key);
  return found ? strtol(text, NULL, 10) : -1;
}

static long count(const char* key) {
  MPI_Info counts;
  MUST(MPIX_Session_get_counts(session, &counts));
  long value = count_of(counts, key);
  MUST(MPI_Info_free(&counts));
  return value;
}

#endif
