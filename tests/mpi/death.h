/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for test programs in which processes die while others continue. */
#ifndef TESTS_DEATH_H
#define TESTS_DEATH_H

#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Ignore SIGUSR1, which hydra sends to the other processes when a process dies. */
__attribute__((constructor)) static void outlive_others(void) { signal(SIGUSR1, SIG_IGN); }

/* Die. Hydra ends all processes with one that a signal kills, so under "hydra" exit with 0. */
static inline void die_under(const char* launcher) {
  if (strcmp(launcher, "hydra") == 0) _exit(0);
  raise(SIGKILL);
}

/* True if the class reports a dead process; over MPICH there are two such classes. */
static inline int is_death_class(int error_class) {
  return error_class == MPI_ERR_PROC_ABORTED || error_class == MPIX_ERR_PROC_FAILED;
}

#endif
