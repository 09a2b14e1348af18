/* SPDX-License-Identifier: BSD-3-Clause */
/* Common code of the start-up programs. Arguments:
 *   leave        exit without MPI's finalization, which some systems do not reach
 *   sparse       no world communicator; one per node and one of node leaders (startup_session)
 *   more         then measure another communicator, duplicates, messages, allreduces
 *   peers=N      in "more", send the first message to at most N processes; 0: to none
 *   work=MS      the program's own work after MPI_Session_init, in no phase (startup_session)
 *   counts       print what it has cost in counts (our sessions alone)
 *   memory=DIR   measure memory after each phase, not time; DIR, an empty folder, holds barriers */
#ifndef BENCH_STARTUP_H
#define BENCH_STARTUP_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMostPhases = 16 };

typedef struct {
  int leave, sparse, more, counts, peers;
  double work_ms;
  const char* memory;
} Words;

/* Communicators that reach all processes: one of all, or one per node and one of the node leaders.
 */
typedef struct {
  MPI_Comm all, node, roots;
} Reach;

typedef struct {
  const Words* words;
  int rank, size; /* from the launcher, before any communicator exists */
  int count, reported;
  const char* names[kMostPhases];
  double took_ms[kMostPhases], pss_kib[kMostPhases], shared_kib[kMostPhases];
  double began;
} Phases;

static inline double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static inline void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "startup: %s failed with code %d\n", what, code);
  exit(1);
}

static inline Words words_of(int argc, char** argv) {
  Words words = {0};
  words.peers = 1 << 30;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "leave") == 0) words.leave = 1;
    if (strcmp(argv[i], "sparse") == 0) words.sparse = 1;
    if (strcmp(argv[i], "more") == 0) words.more = 1;
    if (strcmp(argv[i], "counts") == 0) words.counts = 1;
    if (strncmp(argv[i], "peers=", 6) == 0) words.peers = atoi(argv[i] + 6);
    if (strncmp(argv[i], "work=", 5) == 0) words.work_ms = atof(argv[i] + 5);
    if (strncmp(argv[i], "memory=", 7) == 0) words.memory = argv[i] + 7;
  }
  return words;
}

/* Return a number from the launcher's environment before MPI: Open MPI's mpirun or PMI-1; -1 if
 * unset. */
static inline int from_launcher(const char* one, const char* other) {
  const char* text = getenv(one) ? getenv(one) : getenv(other);
  return text ? atoi(text) : -1;
}

/* Wait until all processes have called this, without MPI. Use each name once. */
static inline void meet(const Phases* phases, const char* name) {
  char file[512];
  for (int i = -1; i < phases->size; ++i) {
    snprintf(file, sizeof file, "%s/%s.%d", phases->words->memory, name, i < 0 ? phases->rank : i);
    if (i < 0) {
      FILE* made = fopen(file, "w");
      if (!made) perror(file), exit(1);
      fclose(made);
    }
    while (access(file, F_OK) != 0) usleep(1000);
  }
}

/* Read this process's proportional set size, and its shared-memory share. */
static inline void read_memory(double* pss_kib, double* shared_kib) {
  char line[256];
  double value;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  if (!file) perror("smaps_rollup"), exit(1);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "Pss: %lf", &value) == 1) *pss_kib = value;
    if (sscanf(line, "Pss_Shmem: %lf", &value) == 1) *shared_kib = value;
  }
  fclose(file);
}

static inline void record_memory(Phases* phases, const char* name) {
  char after[64];
  if (!phases->words->memory) return;
  snprintf(after, sizeof after, "%s.read", name);
  meet(phases, name); /* no process starts the next phase while another reads */
  read_memory(&phases->pss_kib[phases->count], &phases->shared_kib[phases->count]);
  meet(phases, after);
}

static inline void add_phase(Phases* phases, const char* name, double took_ms) {
  if (phases->count == kMostPhases) fprintf(stderr, "startup: too many phases\n"), exit(1);
  phases->names[phases->count] = name;
  phases->took_ms[phases->count] = took_ms;
  record_memory(phases, name);
  ++phases->count;
  phases->began = now_ms();
}

/* Start the phases; call this first in a program. The phase "start" is the process before any call.
 */
static inline Phases start_phases(const Words* words) {
  Phases phases = {.words = words,
                   .rank = from_launcher("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
                   .size = from_launcher("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")};
  if (words->memory) add_phase(&phases, "start", 0);
  phases.began = now_ms();
  return phases;
}

/* End a phase that started at the end of the previous one. */
static inline void end_phase(Phases* phases, const char* name) {
  add_phase(phases, name, now_ms() - phases->began);
}

static inline double median(double* values, int count) {
  for (int i = 1; i < count; ++i) /* few values */
    for (int j = i; j > 0 && values[j] < values[j - 1]; --j) {
      double larger = values[j - 1];
      values[j - 1] = values[j], values[j] = larger;
    }
  return values[count / 2];
}

/* Reduce to rank 0 of all processes, which is a node leader. Collective. */
static inline void reduce_to_first(const Reach* reach, const double* mine, double* result,
                                   int count, MPI_Op op) {
  double of_node[2 * kMostPhases];
  if (reach->all != MPI_COMM_NULL) {
    check(MPI_Reduce(mine, result, count, MPI_DOUBLE, op, 0, reach->all), "MPI_Reduce");
    return;
  }
  check(MPI_Reduce(mine, of_node, count, MPI_DOUBLE, op, 0, reach->node), "MPI_Reduce on the node");
  if (reach->roots != MPI_COMM_NULL)
    check(MPI_Reduce(of_node, result, count, MPI_DOUBLE, op, 0, reach->roots),
          "MPI_Reduce of the roots");
}

/* Sum over all processes, as in the paper of 2025, §4.3. Collective. */
static inline void allreduce(const Reach* reach, const double* mine, double* result) {
  if (reach->all != MPI_COMM_NULL) {
    check(MPI_Allreduce(mine, result, 1, MPI_DOUBLE, MPI_SUM, reach->all), "MPI_Allreduce");
    return;
  }
  double of_node = 0;
  check(MPI_Reduce(mine, &of_node, 1, MPI_DOUBLE, MPI_SUM, 0, reach->node),
        "MPI_Reduce on the node");
  if (reach->roots != MPI_COMM_NULL)
    check(MPI_Allreduce(&of_node, result, 1, MPI_DOUBLE, MPI_SUM, reach->roots),
          "MPI_Allreduce of the roots");
  check(MPI_Bcast(result, 1, MPI_DOUBLE, 0, reach->node), "MPI_Bcast on the node");
}

/* Time the first allreduce, and later ones; check the sums. Collective. */
static inline void time_allreduce(Phases* phases, const Reach* reach, int size) {
  enum { kTimes = 21 };
  double one = 1, sum = 0, times[kTimes];
  allreduce(reach, &one, &sum);
  end_phase(phases, "allreduce_first");
  for (int i = 0; i < kTimes; ++i) {
    double start = now_ms();
    allreduce(reach, &one, &sum);
    times[i] = now_ms() - start;
    if (sum != size)
      fprintf(stderr, "startup: the sum is %g of %d processes\n", sum, size), exit(1);
  }
  add_phase(phases, "allreduce", median(times, kTimes));
}

/* Time the first message to each other process, or to the nearest `most`. Collective. */
static inline void time_first_messages(Phases* phases, MPI_Comm comm, int most) {
  int rank, size;
  if (most == 0) return;
  phases->began = now_ms();
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double out = rank, in = 0;
  for (int i = 1; i < size && i <= most; ++i) {
    int to = (rank + i) % size, from = (rank + size - i) % size;
    check(MPI_Sendrecv(&out, 1, MPI_DOUBLE, to, 0, &in, 1, MPI_DOUBLE, from, 0, comm,
                       MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    if (in != from)
      fprintf(stderr, "startup: a message from %g where %d sends\n", in, from), exit(1);
  }
  end_phase(phases, "first_message");
}

/* Time MPI_Comm_dup: the median of 7. Collective. */
static inline void time_dup(Phases* phases, MPI_Comm comm) {
  enum { kTimes = 7 };
  double times[kTimes];
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm copy;
    double start = now_ms();
    check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
    times[i] = now_ms() - start;
    MPI_Comm_free(&copy);
  }
  add_phase(phases, "dup", median(times, kTimes));
}

/* Print, at rank 0, a line per phase since the last report: maximum and mean over the processes.
 * Collective. */
static inline void report(Phases* phases, const Reach* reach, int size) {
  double largest[kMostPhases], sum[kMostPhases], shared[kMostPhases];
  const int n = phases->count, has_memory = phases->words->memory != NULL;
  const double* mine = has_memory ? phases->pss_kib : phases->took_ms;
  reduce_to_first(reach, mine, largest, n, MPI_MAX);
  reduce_to_first(reach, mine, sum, n, MPI_SUM);
  reduce_to_first(reach, phases->shared_kib, shared, n, MPI_SUM);
  for (int i = phases->reported; phases->rank == 0 && i < n; ++i) {
    if (has_memory)
      printf("%s max_kib %.0f mean_kib %.2f shared_kib %.0f\n", phases->names[i], largest[i],
             sum[i] / size, shared[i]);
    else
      printf("%s max_ms %.5f mean_ms %.5f\n", phases->names[i], largest[i], sum[i] / size);
  }
  fflush(stdout); /* the next phase may exceed a timeout */
  phases->reported = n;
}

static inline void leave_if_asked(const Words* words, const Reach* reach) {
  double one = 1, sum;
  if (!words->leave) return;
  fflush(stdout);
  allreduce(reach, &one, &sum); /* after this no process needs another */
  _exit(0);
}

#endif
