/* SPDX-License-Identifier: BSD-3-Clause */
/* What the launcher says of this process before any call of MPI. */
#ifndef TESTS_LAUNCHERS_NUMBER_H
#define TESTS_LAUNCHERS_NUMBER_H

#include <stdlib.h>

/* The number in the first variable (Open MPI's mpirun), else in the second (launchers that speak PMI-1). */
static inline int launchers_number(const char* in_open_mpi, const char* in_pmi) {
  const char *text = getenv(in_open_mpi);
  return atoi(text ? text : getenv(in_pmi));
}

/* This process's rank in its job; Slurm with PMIx sets neither of the two. */
static inline int launchers_rank(void) {
  const char* of_pmix = getenv("PMIX_RANK");
  return of_pmix ? atoi(of_pmix) : launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK");
}

#endif
