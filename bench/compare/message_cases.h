/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark cases of pairs of processes, and rings of all processes. */
#ifndef BENCH_MESSAGE_CASES_H
#define BENCH_MESSAGE_CASES_H

#include <stdlib.h>
#include <string.h>

#include "bench/lib/timing.h"

enum { message_tag = 1, answer_tag = 2, unexpected_tag = 3, most_window = 64 };

/* One process's arguments. Without a partner it only takes part in the barriers before and after.
 */
typedef struct {
  char *out, *in;
  int bytes, window;
  int partner, is_first; /* is_first: sends first, and is the sender in one-way tests */
  int source;            /* source of receives: the partner, or MPI_ANY_SOURCE */
  int left, right;       /* in a ring */
  MPI_Datatype runs;     /* `bytes` in runs, with holes as long as the runs */
  double silence;        /* seconds between messages, in which the second process waits */
} Side;

static inline void ping_pong(MPI_Comm comm, void* state) {
  Side* s = state;
  if (s->partner == MPI_PROC_NULL) return;
  if (s->is_first) MPI_Send(s->out, s->bytes, MPI_CHAR, s->partner, message_tag, comm);
  MPI_Recv(s->in, s->bytes, MPI_CHAR, s->source, message_tag, comm, MPI_STATUS_IGNORE);
  if (!s->is_first) MPI_Send(s->out, s->bytes, MPI_CHAR, s->partner, message_tag, comm);
}

static inline void ping_pong_after_silence(MPI_Comm comm, void* state) {
  Side* s = state;
  const double until = MPI_Wtime() + s->silence;
  while (s->is_first && MPI_Wtime() < until) continue;
  ping_pong(comm, s);
}

/* Ping-pong of data in runs of equal length, separated by holes. */
static inline void ping_pong_of_runs(MPI_Comm comm, void* state) {
  Side* s = state;
  if (s->partner == MPI_PROC_NULL) return;
  if (s->is_first) MPI_Send(s->out, 1, s->runs, s->partner, message_tag, comm);
  MPI_Recv(s->in, 1, s->runs, s->source, message_tag, comm, MPI_STATUS_IGNORE);
  if (!s->is_first) MPI_Send(s->out, 1, s->runs, s->partner, message_tag, comm);
}

static void answer(MPI_Comm comm, const Side* s) {
  char nothing = 0;
  if (s->is_first)
    MPI_Recv(&nothing, 1, MPI_CHAR, s->partner, answer_tag, comm, MPI_STATUS_IGNORE);
  else
    MPI_Send(&nothing, 1, MPI_CHAR, s->partner, answer_tag, comm);
}

/* Send a window of messages from the first to the second process, and a reply after the last. */
static void stream(MPI_Comm comm, void* state) {
  Side* s = state;
  MPI_Request requests[most_window];
  if (s->partner == MPI_PROC_NULL) return;
  for (int w = 0; w < s->window; ++w) {
    if (s->is_first)
      MPI_Isend(s->out, s->bytes, MPI_CHAR, s->partner, message_tag, comm, &requests[w]);
    else
      MPI_Irecv(s->in, s->bytes, MPI_CHAR, s->partner, message_tag, comm, &requests[w]);
  }
  MPI_Waitall(s->window, requests, MPI_STATUSES_IGNORE);
  answer(comm, s);
}

/* Send windows of messages both ways at once. */
static inline void stream_both_ways(MPI_Comm comm, void* state) {
  Side* s = state;
  MPI_Request requests[2 * most_window];
  if (s->partner == MPI_PROC_NULL) return;
  for (int w = 0; w < s->window; ++w)
    MPI_Irecv(s->in, s->bytes, MPI_CHAR, s->partner, message_tag, comm, &requests[w]);
  for (int w = 0; w < s->window; ++w)
    MPI_Isend(s->out, s->bytes, MPI_CHAR, s->partner, message_tag, comm, &requests[s->window + w]);
  MPI_Waitall(2 * s->window, requests, MPI_STATUSES_IGNORE);
  answer(comm, s);
}

/* Send a message to either neighbor, as HPCC's rings do. */
static inline void ring(MPI_Comm comm, void* state) {
  Side* s = state;
  MPI_Sendrecv(s->out, s->bytes, MPI_CHAR, s->right, message_tag, s->in, s->bytes, MPI_CHAR,
               s->left, message_tag, comm, MPI_STATUS_IGNORE);
  MPI_Sendrecv(s->out, s->bytes, MPI_CHAR, s->left, message_tag, s->in, s->bytes, MPI_CHAR,
               s->right, message_tag, comm, MPI_STATUS_IGNORE);
}

/* Send messages that stay unexpected at the receiver until take_unexpected(). */
static inline void leave_unexpected(MPI_Comm comm, int to, int count) {
  char word[8] = "";
  for (int i = 0; i < count; ++i) MPI_Send(word, sizeof word, MPI_CHAR, to, unexpected_tag, comm);
}
static inline void take_unexpected(MPI_Comm comm, int from, int count) {
  char word[8];
  for (int i = 0; i < count; ++i)
    MPI_Recv(word, sizeof word, MPI_CHAR, from, unexpected_tag, comm, MPI_STATUS_IGNORE);
}

/* Receives posted in order at both sides. Messages of leave_unexpected() complete them. */
typedef struct {
  int count;
  char (*words)[8];
  MPI_Request* requests;
} Posted;
static inline Posted post_receives(MPI_Comm comm, int from, int count) {
  Posted posted = {count, malloc((size_t)count * sizeof *posted.words),
                   malloc((size_t)count * sizeof *posted.requests)};
  for (int i = 0; i < count; ++i)
    MPI_Irecv(posted.words[i], sizeof posted.words[i], MPI_CHAR, from, unexpected_tag, comm,
              &posted.requests[i]);
  return posted;
}
static inline void end_receives(Posted* posted) {
  MPI_Waitall(posted->count, posted->requests, MPI_STATUSES_IGNORE);
  free(posted->words);
  free(posted->requests);
}

/* Pair process i of the first half with process i of the second. */
static Side make_side(int rank, int size, int most_bytes) {
  Side s = {.out = malloc((size_t)most_bytes),
            .in = malloc((size_t)most_bytes),
            .window = 1,
            .partner = MPI_PROC_NULL,
            .is_first = rank < size / 2};
  memset(s.out, 1, (size_t)most_bytes);
  memset(s.in, 2, (size_t)most_bytes);
  if (rank < size / 2 * 2) s.partner = s.is_first ? rank + size / 2 : rank - size / 2;
  s.source = s.partner;
  s.left = (rank + size - 1) % size;
  s.right = (rank + 1) % size;
  return s;
}

static void free_side(Side* s) {
  free(s->out);
  free(s->in);
}

/* Set the ring neighbors of random order `number`, which is equal at all processes. */
static inline void take_random_order(Side* s, int rank, int size, unsigned number) {
  int* order = malloc(sizeof(int) * (size_t)size);
  unsigned long long seed = number * 2862933555777941757ULL + 3037000493ULL;
  for (int i = 0; i < size; ++i) order[i] = i;
  for (int i = size - 1; i > 0; --i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    const int other = (int)((seed >> 33) % (unsigned)(i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < size; ++i)
    if (order[i] == rank) {
      s->left = order[(i + size - 1) % size];
      s->right = order[(i + 1) % size];
    }
  free(order);
}

#endif
