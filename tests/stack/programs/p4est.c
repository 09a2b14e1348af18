/* SPDX-License-Identifier: BSD-3-Clause */
/* p4est: refine, balance and divide a forest of quadrants; their number and areas are known. */
#include <p4est.h>
#include <p4est_bits.h>
#include <p4est_extended.h>
#include <p4est_ghost.h>

#include "communicator.h"

enum { LEVEL = 6 };

/* Refine the quadrants that contain the lower left corner of the square. */
static int is_at_corner(p4est_t* forest, p4est_topidx_t tree, p4est_quadrant_t* quadrant) {
  (void)forest, (void)tree;
  return quadrant->level < LEVEL && quadrant->x == 0 && quadrant->y == 0;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  sc_init(comm, 0, 0, NULL, SC_LP_ERROR);
  p4est_init(NULL, SC_LP_ERROR);
  p4est_connectivity_t* square = p4est_connectivity_new_unitsquare();
  p4est_t* forest = p4est_new_ext(comm, square, 0, 2, 1, 0, NULL, NULL);
  stack_check("error of the number of quadrants of level 2",
              fabs((double)forest->global_num_quadrants - 16), 0);
  /* Each of four levels replaces one quadrant by four; the 2:1 rule asks for no more. */
  p4est_refine(forest, 1, is_at_corner, NULL);
  p4est_balance(forest, P4EST_CONNECT_FULL, NULL);
  stack_check("error of the number of refined quadrants",
              fabs((double)forest->global_num_quadrants - (16 + 3 * (LEVEL - 2))), 0);
  const unsigned before = p4est_checksum(forest);
  p4est_partition(forest, 0, NULL);
  stack_check(
      "quadrants above or below a quarter",
      fabs((double)forest->local_num_quadrants - (double)forest->global_num_quadrants / stack.size),
      1);
  stack_check("change of the checksum", before == p4est_checksum(forest) ? 0 : 1, 0);

  double area = 0;
  const p4est_tree_t* tree = forest->local_num_quadrants ? p4est_tree_array_index(forest->trees, 0)
                                                         : NULL;
  for (size_t i = 0; tree != NULL && i < tree->quadrants.elem_count; i++) {
    const p4est_quadrant_t* quadrant = sc_array_index((sc_array_t*)&tree->quadrants, i);
    area += ldexp(1, -2 * quadrant->level);
  }
  MPI_Allreduce(MPI_IN_PLACE, &area, 1, MPI_DOUBLE, MPI_SUM, comm);
  stack_check("error of the area", fabs(area - 1), 1e-15);
  p4est_ghost_t* ghost = p4est_ghost_new(forest, P4EST_CONNECT_FULL);
  stack_check("ghosts missing", ghost->ghosts.elem_count > 0 ? 0 : 1, 0);

  p4est_ghost_destroy(ghost);
  p4est_destroy(forest);
  p4est_connectivity_destroy(square);
  sc_finalize();
  return stack_end();
}
