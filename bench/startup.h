/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two start-up programs share: a clock and a report. */
#ifndef BENCH_STARTUP_H
#define BENCH_STARTUP_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void check(int code, const char *what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "startup: %s failed with code %d\n", what, code);
  exit(1);
}

/* Collective. Rank 0 prints a line per phase: its name, the maximum and the mean over the processes. */
static void report(MPI_Comm comm, const char *const *names, const double *mine, int count) {
  double largest[8], sum[8];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  check(MPI_Reduce(mine, largest, count, MPI_DOUBLE, MPI_MAX, 0, comm), "MPI_Reduce");
  check(MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, 0, comm), "MPI_Reduce");
  for (int i = 0; rank == 0 && i < count; ++i) printf("%s max_ms %.4f mean_ms %.4f\n", names[i], largest[i], sum[i] / size);
}

/* Collective. With "leave" as the program's first word it ends here, without MPI's own end, which some do not reach. */
static void leave_if_asked(int argc, char **argv, MPI_Comm comm) {
  if (argc < 2 || strcmp(argv[1], "leave") != 0) return;
  fflush(stdout);
  MPI_Barrier(comm);
  _exit(0);
}

#endif
