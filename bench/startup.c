/* SPDX-License-Identifier: BSD-3-Clause */
/* What it takes until a process has its communicator, in milliseconds.
 *
 *   startup world     MPI_Init
 *   startup session   MPI_Session_init, group of mpi://WORLD, its communicator; then the communicator of mpi://SELF
 *
 * Rank 0 prints one line: a name and the maximum and the mean over the processes for each phase. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void check(int code, const char *what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "startup: %s failed with code %d\n", what, code);
  exit(1);
}

static void report(MPI_Comm comm, const char *const *names, const double *mine, int count) {
  double largest[8], sum[8];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  check(MPI_Reduce(mine, largest, count, MPI_DOUBLE, MPI_MAX, 0, comm), "MPI_Reduce");
  check(MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, 0, comm), "MPI_Reduce");
  for (int i = 0; rank == 0 && i < count; ++i) printf("%s max_ms %.4f mean_ms %.4f\n", names[i], largest[i], sum[i] / size);
}

static void measure_world(int argc, char **argv) {
  double start = now_ms();
  MPI_Init(&argc, &argv);
  double took = now_ms() - start;
  const char *const names[] = {"world_init"};
  report(MPI_COMM_WORLD, names, &took, 1);
  MPI_Finalize();
}

static void measure_session(void) {
  const char *const names[] = {"session_init", "world_comm", "self_comm", "session_total"};
  double t[4];
  MPI_Session session;
  MPI_Group world_group, self_group;
  MPI_Comm world, self;
  t[0] = now_ms();
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  t[1] = now_ms();
  check(MPI_Group_from_session_pset(session, "mpi://WORLD", &world_group), "mpi://WORLD");
  check(MPI_Comm_create_from_group(world_group, "intersession.bench.world", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world),
        "creation of the world");
  t[2] = now_ms();
  check(MPI_Group_from_session_pset(session, "mpi://SELF", &self_group), "mpi://SELF");
  check(MPI_Comm_create_from_group(self_group, "intersession.bench.self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self),
        "creation of self");
  t[3] = now_ms();
  double took[4] = {t[1] - t[0], t[2] - t[1], t[3] - t[2], t[2] - t[0]};
  report(world, names, took, 4);
  MPI_Comm_free(&self);
  MPI_Comm_free(&world);
  MPI_Group_free(&self_group);
  MPI_Group_free(&world_group);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "world") == 0) measure_world(argc, argv);
  else if (argc == 2 && strcmp(argv[1], "session") == 0) measure_session();
  else return fprintf(stderr, "usage: startup world|session\n"), 2;
  return 0;
}
