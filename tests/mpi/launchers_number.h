/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the rank of this process from variables of the launcher, before any MPI call. */
#ifndef TESTS_LAUNCHERS_NUMBER_H
#define TESTS_LAUNCHERS_NUMBER_H

#include <stdlib.h>

/* Return the number in the first variable (Open MPI's mpirun), else in the second one (PMI-1). */
static inline int launchers_number(const char* in_open_mpi, const char* in_pmi) {
  const char* text = getenv(in_open_mpi);
  return atoi(text ? text : getenv(in_pmi));
}

/* Return the rank of this process in its job. Slurm with PMIx sets neither variable. */
static inline int launchers_rank(void) {
  const char* of_pmix = getenv("PMIX_RANK");
  return of_pmix ? atoi(of_pmix) : launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK");
}

#endif
