/* SPDX-License-Identifier: BSD-3-Clause */
#include "killer.h"

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "shim/intercept/phases.h"

static struct {
  int is_armed,
      left; /* left: number of times the point is still passed, including the time of the kill */
  char kind[16], name[64];
  long delay_us;
  int report; /* opened early: no memory is needed in the signal handler */
} plan;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards plan.left */

int rank_in_environment(void) {
  static const char* const names[] = {"PMIX_RANK", "PMI_RANK", "PMI_ID"};
  for (int i = 0; i < 3; ++i)
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  return -1;
}

int rank_to_kill(void) { return getenv("KILL_RANK") != NULL ? atoi(getenv("KILL_RANK")) : -1; }

static void die(int signal_number) {
  static const char line[] = "killed\n";
  (void)signal_number;
  if (write(plan.report, line, sizeof line - 1) != (ssize_t)(sizeof line - 1)) _exit(99);
  kill(getpid(), SIGKILL);
}

void await_kill(void) {
  pthread_mutex_lock(&mutex);
  const int is_on_its_way = plan.is_armed && plan.left <= 0;
  pthread_mutex_unlock(&mutex);
  while (is_on_its_way) pause();
}

static void die_in_time(void) {
  const struct itimerval once = {.it_value = {plan.delay_us / 1000000, plan.delay_us % 1000000}};
  if (plan.delay_us == 0) die(0);
  signal(SIGALRM, die);
  setitimer(ITIMER_REAL, &once, NULL);
}

static void point(const char* kind, const char* name) {
  if (!plan.is_armed || strcmp(kind, plan.kind) != 0 || strcmp(name, plan.name) != 0) return;
  pthread_mutex_lock(&mutex);
  const int is_it = --plan.left == 0;
  pthread_mutex_unlock(&mutex);
  if (is_it) die_in_time();
}

/* Wait until all processes of the job ignore SIGUSR1. */
static void await_others(const char* report) {
  const char *openmpi = getenv("OMPI_COMM_WORLD_SIZE"), *pmi = getenv("PMI_SIZE");
  const int size = openmpi != NULL ? atoi(openmpi) : pmi != NULL ? atoi(pmi) : 0;
  char name[4096];
  for (int rank = 0; rank < size; ++rank) {
    snprintf(name, sizeof name, "%s.%d", report, rank);
    while (access(name, F_OK) != 0) usleep(1000);
  }
}

__attribute__((constructor)) static void arm(void) {
  const char *at = getenv("KILL_AT"), *report = getenv("KILL_REPORT"),
             *delay = getenv("KILL_DELAY");
  if (at == NULL || report == NULL || rank_to_kill() < 0 || rank_in_environment() != rank_to_kill())
    return;
  await_others(report);
  plan.left = 1;
  if (sscanf(at, "%15[^:]:%63[^:]:%d", plan.kind, plan.name, &plan.left) < 1) return;
  plan.delay_us = delay != NULL ? atol(delay) : 0;
  plan.report = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  plan.is_armed = plan.report >= 0;
  point("start", "");
}

void intersession_phase(const intersession_phase_event* event) {
  if (event->what == INTERSESSION_PHASE_BEGINS)
    point("begins", event->phase);
  else if (event->what == INTERSESSION_PHASE_ENDS)
    point("ends", event->phase);
}

#define HOOKED(function, parameters, arguments) \
  int MPI_##function parameters {               \
    point("call", "MPI_" #function);            \
    const int code = PMPI_##function arguments; \
    point("return", "MPI_" #function);          \
    return code;                                \
  }
HOOKED(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
       (info, handler, session))
HOOKED(Session_finalize, (MPI_Session * session), (session))
HOOKED(Comm_create_from_group,
       (MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm* comm),
       (group, tag, info, handler, comm))
HOOKED(Comm_free, (MPI_Comm * comm), (comm))
HOOKED(Send, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
       (data, count, type, to, tag, comm))
HOOKED(Recv,
       (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
        MPI_Status* status),
       (data, count, type, from, tag, comm, status))
HOOKED(Barrier, (MPI_Comm comm), (comm))
HOOKED(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
       (data, count, type, root, comm))
HOOKED(Reduce,
       (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
        MPI_Comm comm),
       (from, to, count, type, op, root, comm))
HOOKED(Allreduce,
       (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       (from, to, count, type, op, comm))
HOOKED(Scan, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       (from, to, count, type, op, comm))
HOOKED(Exscan, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       (from, to, count, type, op, comm))
HOOKED(Reduce_scatter_block,
       (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       (from, to, count, type, op, comm))
HOOKED(Gather,
       (const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype into,
        int root, MPI_Comm comm),
       (from, sent, type, to, got, into, root, comm))
HOOKED(Scatter,
       (const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype into,
        int root, MPI_Comm comm),
       (from, sent, type, to, got, into, root, comm))
HOOKED(Allgather,
       (const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype into,
        MPI_Comm comm),
       (from, sent, type, to, got, into, comm))
HOOKED(Alltoall,
       (const void* from, int sent, MPI_Datatype type, void* to, int got, MPI_Datatype into,
        MPI_Comm comm),
       (from, sent, type, to, got, into, comm))
