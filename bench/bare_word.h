/* SPDX-License-Identifier: BSD-3-Clause */
/* How far two processes are apart: a word that they hand back and forth in memory of their own, without any MPI. On a machine that is
 * shared it changes within seconds, as the host moves the cores, and most figures with it. */
#ifndef BENCH_BARE_WORD_H
#define BENCH_BARE_WORD_H

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
} Words;

typedef struct {
  Words *words; /* null where there are not two processes that share memory */
  MPI_Comm comm;
  int is_first;
  uint64_t number;
} BareWord;

static Words *map_words(int file) {
  void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Collective over comm. */
static BareWord open_bare_word(MPI_Comm comm, int rank, int size) {
  char name[] = "/dev/shm/bench-word-XXXXXX"; /* which mkstemp(3) makes a name of */
  BareWord word = {.words = NULL, .comm = comm, .is_first = rank == 0};
  int file = -1, is_there, both_are;
  if (size != 2) return word;
  if (rank == 0) {
    file = mkstemp(name);
    if (file >= 0 && posix_fallocate(file, 0, sizeof(Words)) != 0) { close(file); file = -1; }
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
  if (rank == 1) file = open(name, O_RDWR);
  word.words = map_words(file);
  is_there = word.words != NULL;
  MPI_Allreduce(&is_there, &both_are, 1, MPI_INT, MPI_MIN, comm);
  if (rank == 0) unlink(name);
  if (!both_are && word.words != NULL) { munmap(word.words, sizeof(Words)); word.words = NULL; }
  return word;
}

static void close_bare_word(BareWord *word) {
  if (word->words != NULL) munmap(word->words, sizeof(Words));
  word->words = NULL;
}

/* Who has looked so often in vain lets others have the core, and MPI bring to its end what it has begun before. */
static void await_word(BareWord *word, _Atomic uint64_t *by_other) {
  enum { polls_before_rest = 2000 };
  int flag;
  for (int polls = 1; atomic_load_explicit(by_other, memory_order_acquire) != word->number; ++polls) {
    if (polls % polls_before_rest != 0) continue;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, word->comm, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

/* Seconds of so many round trips, at the first process. */
static double hand_back_and_forth(BareWord *word, int rounds) {
  Words *words = word->words;
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    ++word->number;
    if (word->is_first) atomic_store_explicit(&words->by_first, word->number, memory_order_release);
    await_word(word, word->is_first ? &words->by_second : &words->by_first);
    if (!word->is_first) atomic_store_explicit(&words->by_second, word->number, memory_order_release);
  }
  return MPI_Wtime() - start;
}

/* Nanoseconds one way, the median of some batches; 0 where there is no word. Collective; the first process's is the one that counts. */
static double time_of_bare_word(BareWord *word) {
  enum { batches = 9, rounds = 100 };
  double times[batches];
  if (word->words == NULL) return 0;
  hand_back_and_forth(word, rounds);
  for (int i = 0; i < batches; ++i) {
    const double took = hand_back_and_forth(word, rounds);
    int at = i;
    for (; at > 0 && times[at - 1] > took; --at) times[at] = times[at - 1];
    times[at] = took;
  }
  return times[batches / 2] / rounds / 2 * 1e9;
}

/* One figure for the time between two of them; 0 where the processes have come closer or gone apart meanwhile. */
static double word_between(double before, double after) {
  const double alike = 1.5;
  return before > after * alike || after > before * alike ? 0 : (before + after) / 2;
}

#endif
