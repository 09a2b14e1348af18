/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures and prints the rows of bench/compare on one communicator.
 *
 *   compare_world | compare_session | compare_library   PART [MILLISECONDS [more]]
 *
 *   messages        between pairs: latency, bandwidth, rate; "more": sizes for a curve
 *   fabric          between two processes: the rows of raw_pingpong, and MPI_ANY_SOURCE
 *   oversubscribed  short messages and collectives, for more processes than cores
 *   first_use       the first operations of a job, in a fixed order: messages of two processes,
 *                   collectives of all
 *   collectives     blocking, of all processes
 *   nonblocking, persistent   collectives of all processes, each started and completed
 *   no_single_copy  long data, for jobs in which no process may read another's memory: messages of
 *                   two processes, collectives of all
 *   ring_exchange   of all processes, in rank order and in random orders
 *
 * Rank 0 prints a line for each row: part, name, bytes, microseconds of one operation at the
 * slowest process. If two processes share memory, a fifth column has the one-way core-to-core
 * latency in nanoseconds, unless its values before and after the row differ. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare/core_latency.h"
#include "bench/compare/message_cases.h"
#include "bench/compare/request_cases.h"

typedef struct {
  MPI_Comm comm;
  int rank, size;
  const char* part;
  double milliseconds;
  int more;
  CoreLatency* core_latency;
} Compared;

static void print_row(const Compared* c, const char* what, int bytes, double took,
                      double nanoseconds) {
  if (c->rank == 0)
    printf(nanoseconds > 0 ? "%s,%s,%d,%.5f,%.1f\n" : "%s,%s,%d,%.5f\n", c->part, what, bytes, took,
           nanoseconds);
  fflush(stdout);
}

/* Measure and print one row. An operation consists of `messages` messages and takes `besides`
 * microseconds of other work. */
static void row_besides(const Compared* c, const char* what, int bytes, Operation* run, void* state,
                        double messages, double besides) {
  /* the latency test makes no MPI calls, and some sends complete only inside the receiver's calls
   */
  MPI_Barrier(c->comm);
  double before = measure_core_latency(c->core_latency);
  double took = first_trial(run, c->comm, state, c->comm);
  if (is_slow(took, c->milliseconds)) {
    took = first_trial(run, c->comm, state, c->comm);
  } else {
    int rounds = rounds_after_first(took, run, c->comm, state, c->milliseconds, c->comm);
    before = measure_core_latency(c->core_latency);
    took = time_of(run, c->comm, state, rounds, c->comm);
  }
  print_row(c, what, bytes, (took - besides) / messages,
            mean_if_stable(before, measure_core_latency(c->core_latency)));
}
static void row(const Compared* c, const char* what, int bytes, Operation* run, void* state,
                double messages) {
  row_besides(c, what, bytes, run, state, messages, 0);
}

/* Measure and print a row of `rounds` operations without earlier trials. */
static void first_row(const Compared* c, const char* what, int bytes, Operation* run, void* state,
                      int rounds, double messages) {
  double before = measure_core_latency(c->core_latency);
  double took = time_of_next(run, c->comm, state, rounds, c->comm);
  print_row(c, what, bytes, took / messages,
            mean_if_stable(before, measure_core_latency(c->core_latency)));
}

enum { calls = 1000 };

static void ranks(MPI_Comm comm, void* state) {
  int rank;
  (void)state;
  for (int i = 0; i < calls; ++i) MPI_Comm_rank(comm, &rank);
}

/* Size of a message; only_more: measured with "more" alone. */
typedef struct {
  int bytes, only_more;
} Size;

static void latency_of_any_source(const Compared* c, Side* s) {
  s->bytes = 8;
  s->source = MPI_ANY_SOURCE;
  row(c, "latency, MPI_ANY_SOURCE", s->bytes, ping_pong, s, 2);
  s->source = s->partner;
}

static void latencies(const Compared* c, Side* s) {
  static const Size sizes[] = {{0, 0},    {8, 0},     {64, 1},    {256, 1},     {1024, 0},
                               {4096, 1}, {16384, 0}, {65536, 0}, {1 << 18, 1}, {1 << 20, 1}};
  for (const Size* size = sizes; size < sizes + sizeof sizes / sizeof sizes[0]; ++size) {
    if (size->only_more && !c->more) continue;
    s->bytes = size->bytes;
    row(c, "latency", s->bytes, ping_pong, s, 2);
  }
  latency_of_any_source(c, s);
}

static void latencies_of_runs(const Compared* c, Side* s) {
  static const int runs[] = {64, 4096}, sizes[] = {1024, 65536, 1 << 20};
  char what[60];
  for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; ++i)
    for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
      if (sizes[k] <= runs[i]) continue;
      MPI_Type_vector(sizes[k] / runs[i], runs[i], 2 * runs[i], MPI_CHAR, &s->runs);
      MPI_Type_commit(&s->runs);
      snprintf(what, sizeof what, "latency, vector blocks of %d B", runs[i]);
      row(c, what, sizes[k], ping_pong_of_runs, s, 2);
      MPI_Type_free(&s->runs);
    }
}

static void latencies_behind_others(const Compared* c, Side* s) {
  static const int counts[] = {100, 10000};
  char what[60];
  s->bytes = 8;
  for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    leave_unexpected(c->comm, s->partner, counts[i]);
    snprintf(what, sizeof what, "latency; %d unexpected messages", counts[i]);
    row(c, what, s->bytes, ping_pong, s, 2);
    take_unexpected(c->comm, s->partner, counts[i]);
  }
  for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    Posted posted = post_receives(c->comm, s->partner, counts[i]);
    snprintf(what, sizeof what, "latency; %d posted receives", counts[i]);
    row(c, what, s->bytes, ping_pong, s, 2);
    leave_unexpected(c->comm, s->partner, counts[i]);
    end_receives(&posted);
  }
}

/* Latency with unexpected messages from each process at each. */
static void latency_behind_all(const Compared* c, Side* s) {
  enum { count = 1000 };
  s->bytes = 8;
  for (int step = 1; step < c->size; ++step)
    leave_unexpected(c->comm, (c->rank + step) % c->size, count);
  row(c, "latency; 1000 unexpected messages from each process", s->bytes, ping_pong, s, 2);
  for (int step = 1; step < c->size; ++step)
    take_unexpected(c->comm, (c->rank + step) % c->size, count);
}

static void latencies_after_silence(const Compared* c, Side* s) {
  static const int microseconds[] = {200, 2000, 20000};
  char what[60];
  s->bytes = 8;
  for (unsigned i = 0; i < sizeof microseconds / sizeof microseconds[0]; ++i) {
    s->silence = microseconds[i] * 1e-6;
    snprintf(what, sizeof what, "round trip after %.1f ms idle", microseconds[i] / 1e3);
    row_besides(c, what, s->bytes, ping_pong_after_silence, s, 1, microseconds[i]);
  }
}

static void bandwidths(const Compared* c, Side* s) {
  static const Size sizes[] = {{64, 1},    {1024, 1},    {4096, 1},    {16384, 0},
                               {65536, 0}, {1 << 18, 1}, {1 << 20, 0}, {4 << 20, 0}};
  for (const Size* size = sizes; size < sizes + sizeof sizes / sizeof sizes[0]; ++size) {
    if (size->only_more && !c->more) continue;
    s->bytes = size->bytes;
    s->window = stream_window;
    row(c, "bandwidth", s->bytes, stream, s, s->window);
    row(c, "bandwidth, both ways", s->bytes, stream_both_ways, s, 2 * s->window);
  }
  s->bytes = 8;
  s->window = most_window;
  row(c, "rate", s->bytes, stream, s, s->window);
}

/* Offset the receive buffer by 16 bytes, as between two malloc arrays. Page offsets determine how
 * fast processors copy (docs/decisions/0039-slow-rep-movsb.md). */
static void bandwidths_further_in_a_page(const Compared* c, Side* s) {
  enum { further = 16 };
  static const int sizes[] = {65536, 1 << 20};
  s->in += further;
  s->window = stream_window;
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    s->bytes = sizes[i];
    row(c, "bandwidth, receive buffer at offset 16 B", s->bytes, stream, s, s->window);
  }
  s->in -= further;
}

static void short_messages(const Compared* c, Side* s) {
  s->bytes = 8;
  row(c, "latency", s->bytes, ping_pong, s, 2);
  s->window = most_window;
  row(c, "rate", s->bytes, stream, s, s->window);
}

/* With several pairs, measure only rows that depend on their number. */
static void messages(const Compared* c) {
  Side s = make_side(c->rank, c->size, 4 << 20);
  if (c->size == 2) {
    row(c, "MPI_Comm_rank", 0, ranks, NULL, calls);
    latencies(c, &s);
    latencies_of_runs(c, &s);
    latencies_behind_others(c, &s);
    latencies_after_silence(c, &s);
    bandwidths(c, &s);
    bandwidths_further_in_a_page(c, &s);
  } else {
    short_messages(c, &s);
    latency_behind_all(c, &s);
  }
  free_side(&s);
}

/* Short operations, whose time is mostly waiting. */
static void oversubscribed(const Compared* c) {
  static const Row rows[] = {{"Bcast", bcast}, {"Allreduce", allreduce}, {"Alltoall", alltoall}};
  Side s = make_side(c->rank, c->size, 8);
  Case state = make_case(c->size);
  short_messages(c, &s);
  row(c, "Barrier", 0, barrier, &state, 1);
  set_bytes(&state, 8, c->size);
  for (const Row* each = rows; each < rows + sizeof rows / sizeof rows[0]; ++each)
    row(c, each->name, state.bytes, each->run, &state, 1);
  free_case(&state);
  free_side(&s);
}

/* The rows of raw_pingpong, and MPI_ANY_SOURCE. */
static void fabric(const Compared* c) {
  Side s = make_side(c->rank, c->size, 1 << 20);
  s.bytes = 8;
  row(c, "latency", s.bytes, ping_pong, &s, 2);
  latency_of_any_source(c, &s);
  s.bytes = 1 << 20;
  s.window = stream_window;
  row(c, "bandwidth", s.bytes, stream, &s, s.window);
  free_side(&s);
}

static void ring_exchange(const Compared* c) {
  enum { orders = 5 };
  char what[60];
  Side s = make_side(c->rank, c->size, 1 << 16);
  for (s.bytes = 8; s.bytes <= 1 << 16; s.bytes *= 8192) {
    s.left = (c->rank + c->size - 1) % c->size;
    s.right = (c->rank + 1) % c->size;
    row(c, "ring in rank order", s.bytes, ring, &s, 2);
    for (unsigned order = 0; order < orders; ++order) {
      take_random_order(&s, c->rank, c->size, order);
      snprintf(what, sizeof what, "ring in random order %u", order);
      row(c, what, s.bytes, ring, &s, 2);
    }
  }
  free_side(&s);
}

static void first_use(const Compared* c) {
  enum { messages_of_one = 128, calls_of_one = 32 };
  static const Row rows[] = {{"Bcast, first 32 calls", bcast},
                             {"Allreduce, first 32 calls", allreduce},
                             {"Alltoall, first 32 calls", alltoall}};
  static const int sizes[] = {8, 16384, 65536, 1 << 20};
  Side s = make_side(c->rank, c->size, 1 << 20);
  Case state = make_case(c->size);
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && c->size == 2; ++i) {
    s.bytes = sizes[i];
    first_row(c, "latency, first 256 messages", s.bytes, ping_pong, &s, messages_of_one, 2);
  }
  for (const Row* each = rows; each < rows + sizeof rows / sizeof rows[0]; ++each)
    for (int bytes = 8; bytes <= 1 << 16; bytes *= 8192) {
      set_bytes(&state, bytes, c->size);
      first_row(c, each->name, state.bytes, each->run, &state, calls_of_one, 1);
    }
  free_case(&state);
  free_side(&s);
}

static void rows_of_all_sizes(const Compared* c, const Row* rows, size_t count, Case* state) {
  for (const Row* each = rows; each < rows + count; ++each)
    for (int i = 0; i < row_sizes; ++i) {
      set_bytes(state, sizes_of_rows[i], c->size);
      row(c, each->name, state->bytes, each->run, state, 1);
    }
}

static void collectives(const Compared* c) {
  Case state = make_case(c->size);
  Compared on_torus = *c;
  row(c, "Comm_dup and free", 0, duplicate, &state, 1);
  row(c, "Comm_split and free", 0, split, &state, 1);
  row(c, "Barrier", 0, barrier, &state, 1);
  rows_of_all_sizes(c, on_all, sizeof on_all / sizeof on_all[0], &state);
  on_torus.comm = torus(c->comm);
  rows_of_all_sizes(&on_torus, on_neighbors, sizeof on_neighbors / sizeof on_neighbors[0], &state);
  MPI_Comm_free(&on_torus.comm);
  free_case(&state);
}

static void request_row(const Compared* c, const RequestRow* r, Case* on) {
  RequestCase each = {.on = on, .make = r->make};
  if (r->is_persistent) r->make(c->comm, on, &each.made);
  row(c, r->name, on->bytes, r->is_persistent ? start_and_wait : make_and_wait, &each, 1);
  if (r->is_persistent) MPI_Request_free(&each.made);
}

static void started(const Compared* c, int is_persistent) {
  Case state = make_case(c->size);
  for (const RequestRow* r = request_rows;
       r < request_rows + sizeof request_rows / sizeof request_rows[0]; ++r) {
    if (r->is_persistent != is_persistent || fails_natively(r)) continue;
    for (int i = 0; i < (r->has_bytes ? row_sizes : 1); ++i) {
      set_bytes(&state, r->has_bytes ? sizes_of_rows[i] : 0, c->size);
      request_row(c, r, &state);
    }
  }
  free_case(&state);
}

static void nonblocking(const Compared* c) { started(c, 0); }
static void persistent(const Compared* c) { started(c, 1); }

static void long_messages(const Compared* c) {
  static const int sizes[] = {65536, 1 << 20, 4 << 20};
  Side s = make_side(c->rank, c->size, 4 << 20);
  s.window = stream_window;
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    s.bytes = sizes[i];
    row(c, "latency", s.bytes, ping_pong, &s, 2);
    row(c, "bandwidth", s.bytes, stream, &s, s.window);
    row(c, "bandwidth, both ways", s.bytes, stream_both_ways, &s, 2 * s.window);
  }
  free_side(&s);
}

/* Operations that use another path if no process may read another's memory. */
static void no_single_copy(const Compared* c) {
  static const Row rows[] = {{"Bcast", bcast},   {"Reduce", reduce},       {"Allreduce", allreduce},
                             {"Gather", gather}, {"Allgather", allgather}, {"Alltoall", alltoall}};
  Case state = make_case(c->size);
  if (c->size == 2) long_messages(c);
  for (const Row* each = rows; each < rows + sizeof rows / sizeof rows[0]; ++each)
    for (int bytes = 65536; bytes <= 1 << 20; bytes *= 16) {
      set_bytes(&state, bytes, c->size);
      row(c, each->name, state.bytes, each->run, &state, 1);
    }
  free_case(&state);
}

static int compare_rows(MPI_Comm comm, int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const Compared*);
  } parts[] = {{"messages", messages},
               {"fabric", fabric},
               {"oversubscribed", oversubscribed},
               {"collectives", collectives},
               {"nonblocking", nonblocking},
               {"persistent", persistent},
               {"no_single_copy", no_single_copy},
               {"ring_exchange", ring_exchange},
               {"first_use", first_use}};
  CoreLatency core_latency;
  Compared c = {.comm = comm,
                .core_latency = &core_latency,
                .part = argc > 1 ? argv[1] : "",
                .milliseconds = argc > 2 ? atof(argv[2]) : 10,
                .more = argc > 3 && strcmp(argv[3], "more") == 0};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  core_latency = open_core_latency(comm, c.rank, c.size);
  for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    if (strcmp(parts[i].name, c.part) == 0) {
      parts[i].run(&c);
      close_core_latency(&core_latency);
      return 0;
    }
  fprintf(
      stderr,
      "%s: unknown part \"%s\"; use messages, fabric, oversubscribed, collectives, nonblocking, "
      "persistent, no_single_copy, ring_exchange or first_use\n",
      argv[0], c.part);
  return 2;
}

#endif
