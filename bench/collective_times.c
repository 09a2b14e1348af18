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
  int *places; /* displacements in bytes */
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
static void duplicate(MPI_Comm comm, void *state) {
  MPI_Comm copy;
  (void)state;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&copy);
}

static const struct {
  const char *name;
  Operation *run;
} rows[] = {
    {"Bcast", bcast},     {"Reduce", reduce},       {"Allreduce", allreduce},
    {"Scan", scan},       {"Exscan", exscan},       {"Reduce_scatter_block", reduce_scatter_block},
    {"Gather", gather},   {"Gatherv", gatherv},     {"Scatter", scatter},
    {"Scatterv", scatterv}, {"Allgather", allgather}, {"Allgatherv", allgatherv},
    {"Alltoall", alltoall}, {"Alltoallv", alltoallv}, {"Alltoallw", alltoallw},
    {"Reduce_scatter", reduce_scatter},
};

static const char *only;

static void compare_row(const char *what, Operation *run, Case *c, double milliseconds, int repetitions) {
  if (only == NULL || strcmp(only, what) == 0) compare(what, run, c, milliseconds, repetitions);
}

int main(int argc, char **argv) {
  static const int sizes[] = {8, 1024, 65536, 1 << 20};
  int repetitions = argc > 1 ? atoi(argv[1]) : 7;
  double milliseconds = argc > 2 ? atof(argv[2]) : 20;
  char what[100];
  only = argc > 3 ? argv[3] : NULL;
  open_both(&argc, &argv, "intersession.bench.collectives");
  size_t room = ((size_t)bench_size << 20) + 64;
  Case c = {calloc(1, room), calloc(1, room), 0, malloc(sizeof(int) * bench_size), malloc(sizeof(int) * bench_size),
            malloc(sizeof(int) * bench_size), malloc(sizeof(MPI_Datatype) * bench_size)};
  compare_row("dup and free,0", duplicate, &c, milliseconds, repetitions);
  compare_row("Barrier,0", barrier, &c, milliseconds, repetitions);
  for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; ++r)
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
      c.bytes = sizes[s];
      for (int i = 0; i < bench_size; ++i) {
        c.counts[i] = c.bytes / 8;
        c.displacements[i] = i * (c.bytes / 8);
        c.places[i] = i * c.bytes;
        c.types[i] = MPI_DOUBLE;
      }
      snprintf(what, sizeof what, "%s,%d", rows[r].name, c.bytes);
      compare_row(what, rows[r].run, &c, milliseconds, repetitions);
    }
  free(c.send);
  free(c.receive);
  free(c.counts);
  free(c.displacements);
  free(c.places);
  free(c.types);
  return close_both();
}
