/* SPDX-License-Identifier: BSD-3-Clause */
/* PT-Scotch: divide a square grid into four parts; the sizes and the edges between parts are
 * computed by this program. */
#include <stdint.h>
/* ptscotch.h needs the types of stdio.h and stdint.h */
#include <ptscotch.h>
#include "communicator.h"

enum { SIDE = 32, POINTS = SIDE * SIDE, PARTS = 4 };

int main(void) {
  const MPI_Comm comm = stack_begin();
  const int local = POINTS / stack.size, first = local * stack.rank;
  SCOTCH_Num* begin = malloc((local + 1) * sizeof *begin);
  SCOTCH_Num* edges = malloc(4 * local * sizeof *edges);
  SCOTCH_Num* part = malloc(local * sizeof *part);
  SCOTCH_Num count = 0;
  for (int i = 0; i < local; i++) {
    const int point = first + i;
    begin[i] = count;
    if (point >= SIDE) edges[count++] = point - SIDE;
    if (point % SIDE > 0) edges[count++] = point - 1;
    if (point % SIDE < SIDE - 1) edges[count++] = point + 1;
    if (point < POINTS - SIDE) edges[count++] = point + SIDE;
  }
  begin[local] = count;

  SCOTCH_Dgraph graph;
  SCOTCH_Strat strategy;
  SCOTCH_dgraphInit(&graph, comm);
  SCOTCH_stratInit(&strategy);
  SCOTCH_dgraphBuild(&graph, 0, local, local, begin, NULL, NULL, NULL, count, count, edges, NULL,
                     NULL);
  stack_check("SCOTCH_dgraphCheck's return code", abs(SCOTCH_dgraphCheck(&graph)), 0);
  const int code = SCOTCH_dgraphPart(&graph, PARTS, &strategy, part);
  stack_check("SCOTCH_dgraphPart's return code", abs(code), 0);

  SCOTCH_Num* all = malloc(POINTS * sizeof *all);
  MPI_Allgather(part, local * (int)sizeof *part, MPI_BYTE, all, local * (int)sizeof *all, MPI_BYTE,
                comm);
  int sizes[PARTS] = {0}, cut = 0, wrong = 0;
  for (int point = 0; point < POINTS; point++) {
    if (all[point] < 0 || all[point] >= PARTS) {
      wrong++;
    } else {
      sizes[all[point]]++;
    }
    if (point % SIDE > 0) cut += all[point] != all[point - 1];
    if (point >= SIDE) cut += all[point] != all[point - SIDE];
  }
  int difference = 0;
  for (int i = 0; i < PARTS; i++)
    difference = (int)fmax(difference, abs(sizes[i] - POINTS / PARTS));
  stack_check("points in no part", wrong, 0);
  stack_check("points above or below a quarter", difference, 16);
  stack_check("edges between parts (four squares: 64)", cut, 100);

  SCOTCH_stratExit(&strategy);
  SCOTCH_dgraphExit(&graph);
  free(begin), free(edges), free(part), free(all);
  return stack_end();
}
