/* SPDX-License-Identifier: BSD-3-Clause */
/* One process of a job in which one process is killed (killer.h). The other processes must end as
 * if that process had never been, but for the errors that calls with it return:
 *
 *   member OPERATION ELEMENTS GROUP
 *
 *   OPERATION  what goes on when the process is killed: "none", "star" (MPI_Send and MPI_Recv), or
 *              a collective such as "bcast"
 *   ELEMENTS   of each message, ints
 *   GROUP      "with": all processes create a communicator, and carry the operation out on it; each
 *              of these calls may return an error once the process is dead.
 *              "without": all but that process do, no call may return an error, and that process
 *              has a communicator of its own.
 *
 * With GROUP "with", a communicator that was created must return an error at the latest from a call
 * that needs the dead process, unless KILL_AT is after the operation. Every call must return within
 * MOST_SECONDS. Then the other processes create a communicator without the dead process and use it.
 *
 * The process of rank LATE_RANK, if that variable is set, comes to the first creation 50 ms after
 * the others, which then exchange messages.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "killer.h"

enum { ROUNDS = 20, MOST_SECONDS = 10 };

static MPI_Session session;
static int rank, size, elements, failures;
static int *from, *to;
static double begun; /* when the call that is being checked began */

static void complain(const char* what, const char* text) {
  printf("rank %d: %s: %s\n", rank_in_environment(), what, text);
  ++failures;
}

static const char* text_of(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

/* Check the time and the outcome of a call. Return true if it succeeded. */
static int succeeds(const char* what, int code, int may_fail) {
  char late[64];
  int class = MPI_SUCCESS;
  snprintf(late, sizeof late, "late: returned after %.1f s", MPI_Wtime() - begun);
  if (MPI_Wtime() - begun > MOST_SECONDS) complain(what, late);
  if (code == MPI_SUCCESS) return 1;
  MPI_Error_class(code, &class);
  if (!may_fail || class != MPI_ERR_PROC_ABORTED) complain(what, text_of(code));
  return 0;
}
#define SUCCEEDS(call, may_fail) (begun = MPI_Wtime(), succeeds(#call, call, may_fail))

/* The process to kill exchanges a message with each other process in turn. No process depends on
 * another survivor. */
static int star(MPI_Comm comm) {
  const int hub = rank_to_kill(), first = rank == hub ? 0 : hub,
            last = rank == hub ? size - 1 : hub;
  int code = MPI_SUCCESS;
  for (int peer = first; peer <= last && code == MPI_SUCCESS; ++peer) {
    if (peer == rank) continue;
    if (rank == hub) code = MPI_Send(from, elements, MPI_INT, peer, 1, comm);
    if (code == MPI_SUCCESS)
      code = MPI_Recv(to, elements, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && rank != hub) code = MPI_Send(from, elements, MPI_INT, peer, 1, comm);
  }
  return code;
}
static int none(MPI_Comm comm) {
  (void)comm;
  return MPI_SUCCESS;
}
static int barrier(MPI_Comm comm) { return MPI_Barrier(comm); }
static int bcast(MPI_Comm comm) { return MPI_Bcast(from, elements, MPI_INT, 0, comm); }
static int reduce(MPI_Comm comm) {
  return MPI_Reduce(from, to, elements, MPI_INT, MPI_SUM, 0, comm);
}
static int allreduce(MPI_Comm comm) {
  return MPI_Allreduce(from, to, elements, MPI_INT, MPI_SUM, comm);
}
static int scan(MPI_Comm comm) { return MPI_Scan(from, to, elements, MPI_INT, MPI_SUM, comm); }
static int exscan(MPI_Comm comm) { return MPI_Exscan(from, to, elements, MPI_INT, MPI_SUM, comm); }
static int reduce_scatter_block(MPI_Comm comm) {
  return MPI_Reduce_scatter_block(from, to, elements, MPI_INT, MPI_SUM, comm);
}
static int gather(MPI_Comm comm) {
  return MPI_Gather(from, elements, MPI_INT, to, elements, MPI_INT, 0, comm);
}
static int scatter(MPI_Comm comm) {
  return MPI_Scatter(from, elements, MPI_INT, to, elements, MPI_INT, 0, comm);
}
static int allgather(MPI_Comm comm) {
  return MPI_Allgather(from, elements, MPI_INT, to, elements, MPI_INT, comm);
}
static int alltoall(MPI_Comm comm) {
  return MPI_Alltoall(from, elements, MPI_INT, to, elements, MPI_INT, comm);
}

typedef int (*Operation)(MPI_Comm);
static Operation operation_named(const char* name) {
  static const struct {
    const char* name;
    Operation operation;
  } all[] = {
      {"none", none},        {"star", star},       {"barrier", barrier},
      {"bcast", bcast},      {"reduce", reduce},   {"allreduce", allreduce},
      {"scan", scan},        {"exscan", exscan},   {"reduce_scatter_block", reduce_scatter_block},
      {"gather", gather},    {"scatter", scatter}, {"allgather", allgather},
      {"alltoall", alltoall}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (strcmp(all[i].name, name) == 0) return all[i].operation;
  return NULL;
}

/* All processes of the world but those of one rank; -1: all. */
static MPI_Group group_without(int excluded) {
  MPI_Group all, some;
  SUCCEEDS(MPI_Group_from_session_pset(session, "mpi://WORLD", &all), 0);
  if (excluded < 0) return all;
  SUCCEEDS(MPI_Group_excl(all, 1, &excluded, &some), 0);
  MPI_Group_free(&all);
  return some;
}

static MPI_Comm create(MPI_Group group, const char* tag, int may_fail) {
  MPI_Comm made = MPI_COMM_NULL;
  if (!SUCCEEDS(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                may_fail))
    made = MPI_COMM_NULL;
  MPI_Group_free(&group);
  return made;
}

static void make_buffers(int processes) {
  const size_t bytes = sizeof *from * (size_t)elements * (size_t)processes;
  from = malloc(bytes);
  to = malloc(bytes);
  if (from == NULL || to == NULL) abort();
  memset(from, 1, bytes);
  memset(to, 0, bytes);
}

/* Return true if no call failed. */
static int operate(Operation operation, MPI_Comm comm, int may_fail) {
  for (int round = 0; round < ROUNDS; ++round)
    if (!SUCCEEDS(operation(comm), may_fail)) return 0;
  return 1;
}

/* If the operation let a process go on as if no process had died, a call that depends on the dead
 * process must not: a receive from it, and after a collective a barrier with it. */
static void communicate_with_victim(Operation operation, MPI_Comm comm, int victim) {
  if (operation != none && operation != star) {
    if (SUCCEEDS(MPI_Barrier(comm), 1)) complain("MPI_Barrier", "succeeded with a dead process");
  } else if (SUCCEEDS(MPI_Recv(to, elements, MPI_INT, victim, 2, comm, MPI_STATUS_IGNORE), 1)) {
    complain("MPI_Recv", "succeeded from a dead process");
  }
}

/* The process has not been killed: complete the last calls of the others. Such a run shows nothing.
 */
static void communicate_with_survivors(Operation operation, MPI_Comm comm) {
  if (operation != none && operation != star) {
    SUCCEEDS(MPI_Barrier(comm), 0);
    return;
  }
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) SUCCEEDS(MPI_Send(from, elements, MPI_INT, peer, 2, comm), 0);
}

static void use_without(int victim) {
  int sum = 0, members;
  MPI_Comm living = create(group_without(victim), "kill_matrix.living", 0);
  if (living == MPI_COMM_NULL) return;
  MPI_Comm_size(living, &members);
  if (SUCCEEDS(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, living), 0) && sum != members)
    complain("MPI_Allreduce", "wrong sum");
  SUCCEEDS(MPI_Comm_free(&living), 0);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Operation operation = operation_named(argv[1]);
  elements = atoi(argv[2]);
  const int is_with = strcmp(argv[3], "with") == 0, victim = rank_to_kill(),
            is_victim = victim == rank_in_environment();
  const char *at = getenv("KILL_AT"), *late = getenv("LATE_RANK");
  /* what follows the operation fails or not; before it, a creation that all have completed is
   * followed by calls that must fail */
  const int is_after = at != NULL && (strstr(at, "Comm_free") || strstr(at, "Session_finalize") ||
                                      strstr(at, "flush") || strstr(at, "leave"));
  if (operation == NULL) return 2;
  SUCCEEDS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), 0);
  MPI_Group group = group_without(is_with ? -1 : victim);
  if (!is_with && is_victim) {
    MPI_Group_free(&group);
    SUCCEEDS(MPI_Group_from_session_pset(session, "mpi://SELF", &group), 0);
  }
  if (late != NULL && atoi(late) == rank_in_environment())
    nanosleep(&(struct timespec){0, 50000000}, NULL);
  MPI_Comm comm = create(group, "kill_matrix.world", is_with);
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    make_buffers(size);
    const int is_whole = operate(operation, comm, is_with);
    if (is_victim) await_kill();
    if (is_whole && is_with && !is_after) {
      if (is_victim)
        communicate_with_survivors(operation, comm);
      else
        communicate_with_victim(operation, comm, victim);
    }
    SUCCEEDS(MPI_Comm_free(&comm), is_with);
  }
  if (!is_victim) use_without(victim);
  SUCCEEDS(MPI_Session_finalize(&session), 0);
  free(from);
  free(to);
  if (failures == 0) puts("survivor passed");
  return failures != 0;
}
