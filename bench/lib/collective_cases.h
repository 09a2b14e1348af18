/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark cases of all members of a communicator.
 * dup, split, and the blocking collectives with sizes from 8 bytes to 1 MiB. */
#ifndef BENCH_COLLECTIVE_CASES_H
#define BENCH_COLLECTIVE_CASES_H

#include <stdlib.h>
#include <string.h>

#include "bench/lib/timing.h"

/* Buffers and arguments. `bytes`: per pair of processes, or per process if it sends equal data to
 * all. */
typedef struct {
  char *send, *receive;
  int bytes, members;
  int *counts, *displacements;
  int* int_byte_displacements; /* in bytes; below as neighborhood collectives need them */
  MPI_Aint* byte_displacements;
  MPI_Datatype* types;
} Case;

#define DOUBLES (c->bytes / 8)

static void barrier(MPI_Comm comm, void* state) {
  (void)state;
  MPI_Barrier(comm);
}
static void bcast(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Bcast(c->send, c->bytes, MPI_CHAR, 0, comm);
}
static void reduce(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Reduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, 0, comm);
}
static void allreduce(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Allreduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void scan(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Scan(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void exscan(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Exscan(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void reduce_scatter_block(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Reduce_scatter_block(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void reduce_scatter(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Reduce_scatter(c->send, c->receive, c->counts, MPI_DOUBLE, MPI_SUM, comm);
}
static void gather(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Gather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm);
}
static void gatherv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Gatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, 0,
              comm);
}
static void scatter(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Scatter(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm);
}
static void scatterv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Scatterv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0,
               comm);
}
static void allgather(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Allgather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
static void allgatherv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Allgatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE,
                 comm);
}
static void alltoall(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Alltoall(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
/* Modify one byte per cache line of the send buffer. Programs rarely send unmodified data twice; a
 * receiver that reads the sender's memory would find it in its own cache. */
static void write_to_lines(Case* c, size_t bytes) {
  enum { line = 64 };
  for (size_t at = 0; at < bytes; at += line) ++*(volatile char*)(c->send + at);
}
static void bcast_of_new(MPI_Comm comm, void* state) {
  Case* c = state;
  write_to_lines(c, (size_t)c->bytes);
  bcast(comm, state);
}
static void alltoall_of_new(MPI_Comm comm, void* state) {
  Case* c = state;
  write_to_lines(c, (size_t)c->bytes * (size_t)c->members);
  alltoall(comm, state);
}
static void alltoallv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Alltoallv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, c->counts,
                c->displacements, MPI_DOUBLE, comm);
}
static void alltoallw(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Alltoallw(c->send, c->counts, c->int_byte_displacements, c->types, c->receive, c->counts,
                c->int_byte_displacements, c->types, comm);
}
static void neighbor_allgather(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Neighbor_allgather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
static void neighbor_allgatherv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Neighbor_allgatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements,
                          MPI_DOUBLE, comm);
}
static void neighbor_alltoall(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Neighbor_alltoall(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
static void neighbor_alltoallv(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Neighbor_alltoallv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, c->counts,
                         c->displacements, MPI_DOUBLE, comm);
}
static void neighbor_alltoallw(MPI_Comm comm, void* state) {
  Case* c = state;
  MPI_Neighbor_alltoallw(c->send, c->counts, c->byte_displacements, c->types, c->receive, c->counts,
                         c->byte_displacements, c->types, comm);
}
static void duplicate(MPI_Comm comm, void* state) {
  MPI_Comm copy;
  (void)state;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&copy);
}
/* Split into two communicators, of even and of odd ranks. */
__attribute__((unused)) static void split(MPI_Comm comm, void* state) {
  MPI_Comm half;
  int rank;
  (void)state;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split(comm, rank % 2, rank, &half);
  MPI_Comm_free(&half);
}

typedef struct {
  const char* name;
  Operation* run;
} Row;

static const Row on_all[] = {
    {"Bcast", bcast},
    {"Reduce", reduce},
    {"Allreduce", allreduce},
    {"Scan", scan},
    {"Exscan", exscan},
    {"Reduce_scatter_block", reduce_scatter_block},
    {"Gather", gather},
    {"Gatherv", gatherv},
    {"Scatter", scatter},
    {"Scatterv", scatterv},
    {"Allgather", allgather},
    {"Allgatherv", allgatherv},
    {"Alltoall", alltoall},
    {"Alltoallv", alltoallv},
    {"Alltoallw", alltoallw},
    {"Reduce_scatter", reduce_scatter},
    {"Bcast of new data", bcast_of_new},
    {"Alltoall of new data", alltoall_of_new},
};
static const Row on_neighbors[] = {
    {"Neighbor_allgather", neighbor_allgather}, {"Neighbor_allgatherv", neighbor_allgatherv},
    {"Neighbor_alltoall", neighbor_alltoall},   {"Neighbor_alltoallv", neighbor_alltoallv},
    {"Neighbor_alltoallw", neighbor_alltoallw},
};
enum { neighbors = 4 };

enum { row_sizes = 4 };
static const int sizes_of_rows[row_sizes] = {8, 1024, 65536, 1 << 20};

/* Return a two-dimensional periodic Cartesian communicator: each process has four neighbors, itself
 * included if there are few processes. */
__attribute__((unused)) static MPI_Comm torus(MPI_Comm comm) {
  int sides[2] = {0, 0}, closed[2] = {1, 1}, size;
  MPI_Comm made;
  MPI_Comm_size(comm, &size);
  MPI_Dims_create(size, 2, sides);
  MPI_Cart_create(comm, 2, sides, closed, 0, &made);
  return made;
}

static int blocks_of(int size) { return size > neighbors ? size : neighbors; }

/* Allocate buffers for the largest row among `size` processes. */
static Case make_case(int size) {
  size_t blocks = (size_t)blocks_of(size), buffer = (blocks << 20) + 64;
  /* Write the pages once: unwritten pages all map one zero page, which stays in every cache. */
  return (Case){.send = memset(malloc(buffer), 1, buffer),
                .receive = memset(malloc(buffer), 2, buffer),
                .members = size,
                .counts = malloc(sizeof(int) * blocks),
                .displacements = malloc(sizeof(int) * blocks),
                .int_byte_displacements = malloc(sizeof(int) * blocks),
                .byte_displacements = malloc(sizeof(MPI_Aint) * blocks),
                .types = malloc(sizeof(MPI_Datatype) * blocks)};
}

static void set_bytes(Case* c, int bytes, int size) {
  c->bytes = bytes;
  for (int i = 0; i < blocks_of(size); ++i) {
    c->counts[i] = DOUBLES;
    c->displacements[i] = i * DOUBLES;
    c->byte_displacements[i] = c->int_byte_displacements[i] = i * c->bytes;
    c->types[i] = MPI_DOUBLE;
  }
}

static void free_case(Case* c) {
  free(c->send);
  free(c->receive);
  free(c->counts);
  free(c->displacements);
  free(c->int_byte_displacements);
  free(c->byte_displacements);
  free(c->types);
}

#endif
