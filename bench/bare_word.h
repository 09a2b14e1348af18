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
  char name[] = "/dev/shm/bench-word-XXXXXX";
  BareWord word = {.words = NULL, .is_first = rank == 0};
  int file = -1, is_there, both_are;
  if (size != 2) return word;
  if (rank == 0) {
    file = mkstemp(name);
    if (file >= 0 && ftruncate(file, sizeof(Words)) != 0) { close(file); file = -1; }
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

static void await_word(_Atomic uint64_t *word, uint64_t number) {
  for (int polls = 1; atomic_load_explicit(word, memory_order_acquire) != number; ++polls)
    if (polls % 2000 == 0) sched_yield();
}

/* Nanoseconds one way, at the first process; 0 where there is no word. Collective. */
static double time_of_bare_word(BareWord *word) {
  enum { warm_up = 100, rounds = 1000 };
  double start = 0;
  if (word->words == NULL) return 0;
  for (int i = 0; i < warm_up + rounds; ++i) {
    if (i == warm_up) start = MPI_Wtime();
    ++word->number;
    if (word->is_first) atomic_store_explicit(&word->words->by_first, word->number, memory_order_release);
    await_word(word->is_first ? &word->words->by_second : &word->words->by_first, word->number);
    if (!word->is_first) atomic_store_explicit(&word->words->by_second, word->number, memory_order_release);
  }
  return (MPI_Wtime() - start) / rounds / 2 * 1e9;
}

#endif
