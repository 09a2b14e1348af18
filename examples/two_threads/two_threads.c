/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads, each with its own session and communicator, communicate at the same time and
 * independently. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 500 };

typedef struct {
  int number; /* number of the thread */
  int wrong;
} work;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "two_threads: %s: %s\n", what, text);
  exit(1);
}

static int exchange(MPI_Comm comm, int number, int round) {
  int rank, size, sent, got = -1, sum = 0, sum_expected = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  sent = rank * 10000 + round * 10 + number;
  MPI_Sendrecv(&sent, 1, MPI_INT, next, 7, &got, 1, MPI_INT, before, 7, comm, MPI_STATUS_IGNORE);
  MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, comm);
  for (int r = 0; r < size; ++r) sum_expected += r * 10000 + round * 10 + number;
  return got == before * 10000 + round * 10 + number && sum == sum_expected;
}

static void* run(void* argument) {
  work* w = argument;
  MPI_Session session;
  MPI_Group world;
  MPI_Comm comm;
  char tag[64];
  snprintf(tag, sizeof tag, "intersession.example.thread-%d", w->number);
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  check(MPI_Group_from_session_pset(session, "mpi://WORLD", &world), "mpi://WORLD");
  check(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
        "creation");
  for (int round = 0; round < ROUNDS; ++round) w->wrong += !exchange(comm, w->number, round);
  MPI_Comm_free(&comm);
  MPI_Group_free(&world);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
  return NULL;
}

int main(void) {
  work works[2] = {{.number = 0}, {.number = 1}};
  pthread_t threads[2];
  for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, run, &works[t]);
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  int wrong = works[0].wrong + works[1].wrong;
  printf("two_threads: %d rounds in each of two threads: %s\n", ROUNDS,
         wrong ? "WRONG DATA" : "all right");
  return wrong != 0;
}
