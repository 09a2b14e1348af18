/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench/compare runs of several threads in each of its systems, with two processes and MPI_THREAD_MULTIPLE:
 *
 *   threads_world | threads_session   PART [MILLISECONDS]
 *
 * Each thread has a communicator of its own, over which it sends to the thread of the same number in the other process. Rank 0 prints
 * a line for each row, as compare.h does: microseconds of one message, of all threads together. */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "message_cases.h"

enum { most_threads = 2, message_bytes = 8 };

/* The communicator of a thread, which the thread itself opens and closes; all threads may do so at once. */
typedef struct {
  MPI_Comm (*open)(int thread);
  void (*close)(int thread, MPI_Comm comm);
} Lanes;

typedef struct {
  const Lanes *lanes;
  double milliseconds;
  int threads;
  int rounds[most_threads]; /* that each of them wants, measured while the others measure theirs */
  pthread_barrier_t meeting;
} Team;

typedef struct {
  Team *team;
  int number, rank;
  double took;
} Member;

static int fewest_rounds(const Team *team) {
  int fewest = team->rounds[0];
  for (int i = 1; i < team->threads; ++i)
    if (team->rounds[i] < fewest) fewest = team->rounds[i];
  return fewest;
}

static void *run_member(void *state) {
  Member *m = state;
  Team *team = m->team;
  int size;
  MPI_Comm comm = team->lanes->open(m->number);
  MPI_Comm_rank(comm, &m->rank);
  MPI_Comm_size(comm, &size);
  Side side = make_side(m->rank, size, message_bytes);
  side.bytes = message_bytes;
  side.window = most_window;
  pthread_barrier_wait(&team->meeting);
  team->rounds[m->number] = rounds_for(stream, comm, &side, team->milliseconds, comm);
  pthread_barrier_wait(&team->meeting);
  m->took = time_of(stream, comm, &side, fewest_rounds(team), comm) / side.window;
  pthread_barrier_wait(&team->meeting);
  free_side(&side);
  team->lanes->close(m->number, comm);
  return NULL;
}

/* The first of them is the thread that calls. */
static void rate_of(int threads, const char *what, const Lanes *lanes, double milliseconds) {
  pthread_t running[most_threads];
  Member members[most_threads];
  Team team = {.lanes = lanes, .milliseconds = milliseconds, .threads = threads};
  double slowest = 0;
  pthread_barrier_init(&team.meeting, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) members[i] = (Member){.team = &team, .number = i};
  for (int i = 1; i < threads; ++i)
    if (pthread_create(&running[i], NULL, run_member, &members[i]) != 0) perror("pthread_create"), exit(1);
  run_member(&members[0]);
  for (int i = 1; i < threads; ++i) pthread_join(running[i], NULL);
  for (int i = 0; i < threads; ++i) slowest = members[i].took > slowest ? members[i].took : slowest;
  if (members[0].rank == 0) printf("threads,%s,%d,%.5f\n", what, message_bytes, slowest / threads);
  fflush(stdout);
  pthread_barrier_destroy(&team.meeting);
}

static void thread_rows(const Lanes *lanes, int argc, char **argv) {
  const double milliseconds = argc > 2 ? atof(argv[2]) : 10;
  rate_of(1, "rate, 1 thread (multiple)", lanes, milliseconds);
  rate_of(2, "rate, 2 threads", lanes, milliseconds);
}

#endif
