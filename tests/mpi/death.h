/* SPDX-License-Identifier: BSD-3-Clause */
/* For test programs of which some processes die while the others go on. */
#ifndef TESTS_DEATH_H
#define TESTS_DEATH_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Hydra ends the others with a process that a signal kills, so under "hydra" this one leaves without a word. */
static inline void die_under(const char *launcher) {
  if (strcmp(launcher, "hydra") == 0) _exit(0);
  raise(SIGKILL);
}

#endif
