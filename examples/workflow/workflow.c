/* SPDX-License-Identifier: BSD-3-Clause */
/* A workflow of a hundred tasks, one after the other, each with its own session over a different
 * subset of the processes. A process that is not in a task takes no part in it and continues with
 * the next one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 100 };

static void check(int code, int task, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "workflow: task %d: %s: %s\n", task, what, text);
  exit(1);
}

/* Return a pseudo-random number that is equal in all processes. */
static unsigned mix(unsigned n) {
  n ^= n >> 16;
  n *= 0x7feb352du;
  n ^= n >> 15;
  n *= 0x846ca68bu;
  return n ^ n >> 16;
}

/* Select the members of a task, at least one. */
static int members_of(int task, int size, int* members) {
  int count = 0;
  for (int rank = 0; rank < size; ++rank)
    if (mix((unsigned)(task * 4096 + rank)) & 1) members[count++] = rank;
  if (count == 0) members[count++] = task % size;
  return count;
}

/* Run a task: a pipeline along the members, then an allreduce. Return 1 if the result is right. */
static int work(MPI_Comm comm, int task) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  long token = task, sum = 0;
  if (rank > 0) MPI_Recv(&token, 1, MPI_LONG, rank - 1, task, comm, MPI_STATUS_IGNORE);
  token += rank;
  if (rank < size - 1) MPI_Send(&token, 1, MPI_LONG, rank + 1, task, comm);
  MPI_Allreduce(&token, &sum, 1, MPI_LONG, MPI_SUM, comm);
  long expected = 0, running = task;
  for (int r = 0; r < size; ++r) expected += running += r;
  return sum == expected;
}

int main(void) {
  int tasks_done = 0, wrong = 0, my_rank = 0;
  for (int task = 0; task < TASKS; ++task) {
    MPI_Session session;
    MPI_Group world, group;
    MPI_Comm comm;
    int size, place;
    check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), task, "MPI_Session_init");
    check(MPI_Group_from_session_pset(session, "mpi://WORLD", &world), task, "mpi://WORLD");
    MPI_Group_size(world, &size);
    MPI_Group_rank(world, &my_rank);
    int *members = malloc(size * sizeof *members), count = members_of(task, size, members);
    check(MPI_Group_incl(world, count, members, &group), task, "MPI_Group_incl");
    MPI_Group_rank(group, &place);
    if (place != MPI_UNDEFINED) {
      char tag[64];
      snprintf(tag, sizeof tag, "intersession.example.task-%d", task);
      check(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), task,
            "creation");
      wrong += !work(comm, task);
      ++tasks_done;
      MPI_Comm_free(&comm);
    }
    free(members);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    check(MPI_Session_finalize(&session), task, "MPI_Session_finalize");
  }
  printf("workflow: process %d took part in %d of %d tasks: %s\n", my_rank, tasks_done, TASKS,
         wrong ? "WRONG RESULTS" : "all right");
  return wrong != 0;
}
