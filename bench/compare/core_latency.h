/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures core-to-core latency: two processes alternate stores to a shared word, without MPI.
 * On a shared machine latency changes within seconds, as the host migrates virtual cores, and most
 * other times change with it. */
#ifndef BENCH_CORE_LATENCY_H
#define BENCH_CORE_LATENCY_H

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  _Alignas(64) _Atomic uint64_t by_first;
  _Alignas(64) _Atomic uint64_t by_second;
} SharedFlags;

typedef struct {
  SharedFlags* flags; /* null: not two processes that share memory */
  MPI_Comm comm;
  int is_first;
  uint64_t number;
} CoreLatency;

static SharedFlags* map_flags(int file) {
  void* memory = file < 0
                     ? MAP_FAILED
                     : mmap(NULL, sizeof(SharedFlags), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Open the shared word. Collective over comm. */
static CoreLatency open_core_latency(MPI_Comm comm, int rank, int size) {
  char name[] = "/dev/shm/bench-word-XXXXXX"; /* mkstemp(3) replaces the X */
  CoreLatency latency = {.flags = NULL, .comm = comm, .is_first = rank == 0};
  int file = -1, is_there, both_are;
  if (size != 2) return latency;
  if (rank == 0) {
    file = mkstemp(name);
    if (file >= 0 && posix_fallocate(file, 0, sizeof(SharedFlags)) != 0) {
      close(file);
      file = -1;
    }
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
  if (rank == 1) file = open(name, O_RDWR);
  latency.flags = map_flags(file);
  is_there = latency.flags != NULL;
  MPI_Allreduce(&is_there, &both_are, 1, MPI_INT, MPI_MIN, comm);
  if (rank == 0) unlink(name);
  if (!both_are && latency.flags != NULL) {
    munmap(latency.flags, sizeof(SharedFlags));
    latency.flags = NULL;
  }
  return latency;
}

static void close_core_latency(CoreLatency* latency) {
  if (latency->flags != NULL) munmap(latency->flags, sizeof(SharedFlags));
  latency->flags = NULL;
}

/* Yield after many unsuccessful polls, and let MPI complete earlier operations. */
static void wait_for_peer(CoreLatency* latency, _Atomic uint64_t* by_other) {
  enum { polls_before_rest = 2000 };
  int flag;
  for (int polls = 1; atomic_load_explicit(by_other, memory_order_acquire) != latency->number;
       ++polls) {
    if (polls % polls_before_rest != 0) continue;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, latency->comm, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

/* Return the seconds of `rounds` round trips at the first process. */
static double run_round_trips(CoreLatency* latency, int rounds) {
  SharedFlags* flags = latency->flags;
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    ++latency->number;
    if (latency->is_first)
      atomic_store_explicit(&flags->by_first, latency->number, memory_order_release);
    wait_for_peer(latency, latency->is_first ? &flags->by_second : &flags->by_first);
    if (!latency->is_first)
      atomic_store_explicit(&flags->by_second, latency->number, memory_order_release);
  }
  return MPI_Wtime() - start;
}

/* Return the one-way latency in nanoseconds, the median of 9 batches; 0 without a shared word.
 * Collective; the first process's value counts. */
static double measure_core_latency(CoreLatency* latency) {
  enum { batches = 9, rounds = 100 };
  double times[batches];
  if (latency->flags == NULL) return 0;
  run_round_trips(latency, rounds);
  for (int i = 0; i < batches; ++i) {
    const double took = run_round_trips(latency, rounds);
    int at = i;
    for (; at > 0 && times[at - 1] > took; --at) times[at] = times[at - 1];
    times[at] = took;
  }
  return times[batches / 2] / rounds / 2 * 1e9;
}

/* Return the mean of two latencies; 0 if they differ by more than a factor of 1.5. */
static double mean_if_stable(double before, double after) {
  const double alike = 1.5;
  return before > after * alike || after > before * alike ? 0 : (before + after) / 2;
}

#endif
