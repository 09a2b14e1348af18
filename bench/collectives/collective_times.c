/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures blocking collectives, 8 bytes to 1 MiB, and MPI_Comm_dup, natively and in a session.
 *
 *   collective_times [REPETITIONS [MILLISECONDS [NAME]]]
 *
 * MILLISECONDS: of one library's turn. NAME: one row only, such as "Bcast,8". */
#include "bench/collectives/side_by_side.h"
#include "bench/lib/collective_cases.h"

static const char* only;

static double milliseconds;
static int repetitions;

static void compare_row(const char* what, Operation* run, Pair comms, Case* c) {
  if (only == NULL || strcmp(only, what) == 0)
    compare(what, run, comms, c, milliseconds, repetitions);
}

static void compare_rows(const Row* rows, int count, Pair comms, Case* c) {
  char what[100];
  for (const Row* row = rows; row < rows + count; ++row)
    for (int s = 0; s < row_sizes; ++s) {
      set_bytes(c, sizes_of_rows[s], bench_size);
      snprintf(what, sizeof what, "%s,%d", row->name, c->bytes);
      compare_row(what, row->run, comms, c);
    }
}

int main(int argc, char** argv) {
  repetitions = argc > 1 ? atoi(argv[1]) : 7;
  milliseconds = argc > 2 ? atof(argv[2]) : 20;
  only = argc > 3 ? argv[3] : NULL;
  open_both(&argc, &argv, "intersession.bench.collectives");
  Case c = make_case(bench_size);
  compare_row("dup and free,0", duplicate, worlds, &c);
  compare_row("Barrier,0", barrier, worlds, &c);
  compare_rows(on_all, sizeof on_all / sizeof on_all[0], worlds, &c);
  Pair tori = {torus(worlds.substrate), torus(worlds.ours)};
  compare_rows(on_neighbors, sizeof on_neighbors / sizeof on_neighbors[0], tori, &c);
  MPI_Comm_free(&tori.substrate);
  MPI_Comm_free(&tori.ours);
  free_case(&c);
  return close_both();
}
