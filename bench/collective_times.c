/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking collectives, 8 bytes to 1 MiB, and MPI_Comm_dup, on MPI_COMM_WORLD and on a session communicator.
 *
 *   collective_times [REPETITIONS [MILLISECONDS [NAME]]]    milliseconds of one library's turn; one row only, as "Bcast,8" */
#include "side_by_side.h"

/* Bytes are those that one process gives to one other, or to all of them together where all give the same. */
typedef struct {
  char *send, *receive;
  int bytes;
  int *counts, *displacements;
  int *places; /* displacements in bytes, and the same as the neighbourhood's collectives want them */
  MPI_Aint *byte_displacements;
  MPI_Datatype *types;
} Case;

#define DOUBLES (c->bytes / 8)

static void barrier(MPI_Comm comm, void *state) { (void)state; MPI_Barrier(comm); }
static void bcast(MPI_Comm comm, void *state) { Case *c = state; MPI_Bcast(c->send, c->bytes, MPI_CHAR, 0, comm); }
static void reduce(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Reduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, 0, comm);
}
static void allreduce(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Allreduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void scan(MPI_Comm comm, void *state) { Case *c = state; MPI_Scan(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm); }
static void exscan(MPI_Comm comm, void *state) { Case *c = state; MPI_Exscan(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm); }
static void reduce_scatter_block(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Reduce_scatter_block(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm);
}
static void reduce_scatter(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Reduce_scatter(c->send, c->receive, c->counts, MPI_DOUBLE, MPI_SUM, comm);
}
static void gather(MPI_Comm comm, void *state) { Case *c = state; MPI_Gather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm); }
static void gatherv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Gatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, 0, comm);
}
static void scatter(MPI_Comm comm, void *state) { Case *c = state; MPI_Scatter(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm); }
static void scatterv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Scatterv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm);
}
static void allgather(MPI_Comm comm, void *state) { Case *c = state; MPI_Allgather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm); }
static void allgatherv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Allgatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, comm);
}
static void alltoall(MPI_Comm comm, void *state) { Case *c = state; MPI_Alltoall(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm); }
static void alltoallv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Alltoallv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, comm);
}
static void alltoallw(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Alltoallw(c->send, c->counts, c->places, c->types, c->receive, c->counts, c->places, c->types, comm);
}
static void neighbor_allgather(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Neighbor_allgather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
static void neighbor_allgatherv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Neighbor_allgatherv(c->send, DOUBLES, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, comm);
}
static void neighbor_alltoall(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Neighbor_alltoall(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm);
}
static void neighbor_alltoallv(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Neighbor_alltoallv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->receive, c->counts, c->displacements, MPI_DOUBLE, comm);
}
static void neighbor_alltoallw(MPI_Comm comm, void *state) {
  Case *c = state;
  MPI_Neighbor_alltoallw(c->send, c->counts, c->byte_displacements, c->types, c->receive, c->counts, c->byte_displacements, c->types, comm);
}
static void duplicate(MPI_Comm comm, void *state) {
  MPI_Comm copy;
  (void)state;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&copy);
}

typedef struct {
  const char *name;
  Operation *run;
} Row;

static const Row on_all[] = {
    {"Bcast", bcast},     {"Reduce", reduce},       {"Allreduce", allreduce},
    {"Scan", scan},       {"Exscan", exscan},       {"Reduce_scatter_block", reduce_scatter_block},
    {"Gather", gather},   {"Gatherv", gatherv},     {"Scatter", scatter},
    {"Scatterv", scatterv}, {"Allgather", allgather}, {"Allgatherv", allgatherv},
    {"Alltoall", alltoall}, {"Alltoallv", alltoallv}, {"Alltoallw", alltoallw},
    {"Reduce_scatter", reduce_scatter},
};
static const Row on_neighbors[] = {
    {"Neighbor_allgather", neighbor_allgather},
    {"Neighbor_allgatherv", neighbor_allgatherv},
    {"Neighbor_alltoall", neighbor_alltoall},
    {"Neighbor_alltoallv", neighbor_alltoallv},
    {"Neighbor_alltoallw", neighbor_alltoallw},
};
enum { neighbors = 4 };

static const char *only;

static double milliseconds;
static int repetitions;

static void compare_row(const char *what, Operation *run, Pair comms, Case *c) {
  if (only == NULL || strcmp(only, what) == 0) compare(what, run, comms, c, milliseconds, repetitions);
}

static void compare_rows(const Row *rows, int count, Pair comms, Case *c, int blocks) {
  static const int sizes[] = {8, 1024, 65536, 1 << 20};
  char what[100];
  for (const Row *row = rows; row < rows + count; ++row)
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
      c->bytes = sizes[s];
      for (int i = 0; i < blocks; ++i) {
        c->counts[i] = DOUBLES;
        c->displacements[i] = i * DOUBLES;
        c->byte_displacements[i] = c->places[i] = i * c->bytes;
        c->types[i] = MPI_DOUBLE;
      }
      snprintf(what, sizeof what, "%s,%d", row->name, c->bytes);
      compare_row(what, row->run, comms, c);
    }
}

/* Two dimensions, both closed to rings: everybody has four neighbours, itself among them where there are few processes. */
static MPI_Comm torus(MPI_Comm comm) {
  int sides[2] = {0, 0}, closed[2] = {1, 1};
  MPI_Comm made;
  MPI_Dims_create(bench_size, 2, sides);
  MPI_Cart_create(comm, 2, sides, closed, 0, &made);
  return made;
}

int main(int argc, char **argv) {
  repetitions = argc > 1 ? atoi(argv[1]) : 7;
  milliseconds = argc > 2 ? atof(argv[2]) : 20;
  only = argc > 3 ? argv[3] : NULL;
  open_both(&argc, &argv, "intersession.bench.collectives");
  int blocks = bench_size > neighbors ? bench_size : neighbors;
  size_t room = ((size_t)blocks << 20) + 64;
  Case c = {.send = calloc(1, room),
            .receive = calloc(1, room),
            .counts = malloc(sizeof(int) * blocks),
            .displacements = malloc(sizeof(int) * blocks),
            .places = malloc(sizeof(int) * blocks),
            .byte_displacements = malloc(sizeof(MPI_Aint) * blocks),
            .types = malloc(sizeof(MPI_Datatype) * blocks)};
  compare_row("dup and free,0", duplicate, worlds, &c);
  compare_row("Barrier,0", barrier, worlds, &c);
  compare_rows(on_all, sizeof on_all / sizeof on_all[0], worlds, &c, blocks);
  Pair tori = {torus(worlds.substrate), torus(worlds.ours)};
  compare_rows(on_neighbors, sizeof on_neighbors / sizeof on_neighbors[0], tori, &c, blocks);
  MPI_Comm_free(&tori.substrate);
  MPI_Comm_free(&tori.ours);
  free(c.send);
  free(c.receive);
  free(c.counts);
  free(c.displacements);
  free(c.places);
  free(c.byte_displacements);
  free(c.types);
  return close_both();
}
