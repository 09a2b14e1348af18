/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures MPI_COMM_WORLD and a session communicator of equal processes, alternating, in one run.
 * Alternation makes a slowdown of the machine affect both. Rank 0 prints a line per repetition:
 * what, "substrate_us" and "ours_us", microseconds of one operation. */
#ifndef BENCH_SIDE_BY_SIDE_H
#define BENCH_SIDE_BY_SIDE_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/timing.h"

/* Communicators of one kind over equal processes, one per library. */
typedef struct {
  MPI_Comm substrate, ours;
} Pair;

static MPI_Session bench_session;
static Pair worlds;
static int bench_rank, bench_size;

static void open_both(int* argc, char*** argv, const char* tag) {
  MPI_Group group;
  MPI_Init(argc, argv);
  worlds.substrate = MPI_COMM_WORLD;
  MPI_Comm_rank(MPI_COMM_WORLD, &bench_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench_size);
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &bench_session) != MPI_SUCCESS) exit(1);
  MPI_Group_from_session_pset(bench_session, "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &worlds.ours) !=
      MPI_SUCCESS)
    exit(1);
  MPI_Group_free(&group);
}

static int close_both(void) {
  MPI_Comm_free(&worlds.ours);
  MPI_Session_finalize(&bench_session);
  MPI_Finalize();
  return 0;
}

/* Compare the two libraries, with as many rounds as take about `milliseconds` per turn. Barriers
 * separate the turns. Collective. */
static void compare(const char* what, Operation* run, Pair comms, void* state, double milliseconds,
                    int repetitions) {
  int rounds = rounds_for(run, comms.substrate, state, milliseconds, MPI_COMM_WORLD);
  for (int r = 0; r < repetitions; ++r) {
    int ours_first = r % 2;
    double first = time_of(run, ours_first ? comms.ours : comms.substrate, state, rounds,
                           MPI_COMM_WORLD);
    double second = time_of(run, ours_first ? comms.substrate : comms.ours, state, rounds,
                            MPI_COMM_WORLD);
    if (bench_rank == 0)
      printf("%s substrate_us %.4f ours_us %.4f\n", what, ours_first ? second : first,
             ours_first ? first : second);
  }
}

#endif
