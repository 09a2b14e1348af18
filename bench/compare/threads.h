/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of several threads that bench/compare measures in each of its systems.
 * With MPI_THREAD_MULTIPLE, two processes and one process:
 *
 *   threads_world | threads_session   PART [MILLISECONDS]
 *
 * Each thread sends on a communicator of its own to the thread with its number in the other
 * process; without another process, to itself, on a communicator of its process alone. Rank 0
 * prints a line per row as in compare.h: microseconds of one message of all threads together. */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/compare/message_cases.h"

enum { most_threads = 2, message_bytes = 8 };

/* Opens and closes a thread's communicator. Each thread calls it itself; all may at once. */
typedef struct {
  MPI_Comm (*open)(int thread);
  void (*close)(int thread, MPI_Comm comm);
} CommFactory;

typedef struct {
  const CommFactory* factory;
  void (*messages)(MPI_Comm comm, void* side); /* one window */
  double milliseconds;
  int threads;
  int rounds[most_threads]; /* by thread, measured while all threads measure */
  pthread_barrier_t barrier;
} Team;

typedef struct {
  Team* team;
  int number, rank;
  double took;
} Member;

static void to_itself(MPI_Comm comm, void* state) {
  Side* s = state;
  for (int w = 0; w < s->window; ++w) {
    MPI_Request request;
    MPI_Irecv(s->in, s->bytes, MPI_CHAR, 0, message_tag, comm, &request);
    MPI_Send(s->out, s->bytes, MPI_CHAR, 0, message_tag, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static int fewest_rounds(const Team* team) {
  int fewest = team->rounds[0];
  for (int i = 1; i < team->threads; ++i)
    if (team->rounds[i] < fewest) fewest = team->rounds[i];
  return fewest;
}

static void* run_member(void* state) {
  Member* m = state;
  Team* team = m->team;
  int size;
  MPI_Comm comm = team->factory->open(m->number);
  MPI_Comm_rank(comm, &m->rank);
  MPI_Comm_size(comm, &size);
  Side side = make_side(m->rank, size, message_bytes);
  side.bytes = message_bytes;
  side.window = most_window;
  pthread_barrier_wait(&team->barrier);
  team->rounds[m->number] = rounds_for(team->messages, comm, &side, team->milliseconds, comm);
  pthread_barrier_wait(&team->barrier);
  m->took = time_of(team->messages, comm, &side, fewest_rounds(team), comm) / side.window;
  pthread_barrier_wait(&team->barrier);
  free_side(&side);
  team->factory->close(m->number, comm);
  return NULL;
}

/* Measure and print the rate of several threads; the caller is the first. */
static void rate_of(int threads, const char* what, void (*messages)(MPI_Comm, void*),
                    const CommFactory* factory, double milliseconds) {
  pthread_t running[most_threads];
  Member members[most_threads];
  Team team = {
      .factory = factory, .messages = messages, .milliseconds = milliseconds, .threads = threads};
  double slowest = 0;
  pthread_barrier_init(&team.barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) members[i] = (Member){.team = &team, .number = i};
  for (int i = 1; i < threads; ++i)
    if (pthread_create(&running[i], NULL, run_member, &members[i]) != 0)
      perror("pthread_create"), exit(1);
  run_member(&members[0]);
  for (int i = 1; i < threads; ++i) pthread_join(running[i], NULL);
  for (int i = 0; i < threads; ++i) slowest = members[i].took > slowest ? members[i].took : slowest;
  if (members[0].rank == 0) printf("threads,%s,%d,%.5f\n", what, message_bytes, slowest / threads);
  fflush(stdout);
  pthread_barrier_destroy(&team.barrier);
}

static void thread_rows(const CommFactory* between, const CommFactory* within, int processes,
                        int argc, char** argv) {
  const double milliseconds = argc > 2 ? atof(argv[2]) : 10;
  if (processes == 1) {
    rate_of(1, "rate to itself, 1 thread", to_itself, within, milliseconds);
    rate_of(2, "rate to itself, 2 threads", to_itself, within, milliseconds);
  } else {
    rate_of(1, "rate, 1 thread (multiple)", stream, between, milliseconds);
    rate_of(2, "rate, 2 threads", stream, between, milliseconds);
  }
}

#endif
