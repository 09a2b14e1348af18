/* SPDX-License-Identifier: BSD-3-Clause */
/* For test programs: datatypes of two longs each that lie differently in memory, and buffers of longs to hold them. */
#ifndef TESTS_LAYOUTS_H
#define TESTS_LAYOUTS_H

#include "session_world.h"

enum { PARTS = 2, LAYOUTS = 1, CELLS = 1 << 14, ORIGIN = 128 };

/* Part p of item i is at cell i * extent + offset[p]. */
struct layout {
  MPI_Datatype type;
  int extent, offset[PARTS];
};
static struct layout layouts[LAYOUTS] = {{.extent = 2, .offset = {0, 1}}};
static const int layout_count = LAYOUTS;

static inline void make_layouts(void) {
  MUST(MPI_Type_contiguous(PARTS, MPI_LONG, &layouts[0].type));
  for (int i = 0; i < layout_count; ++i) MUST(MPI_Type_commit(&layouts[i].type));
}
static inline void free_layouts(void) {
  for (int i = 0; i < layout_count; ++i) MUST(MPI_Type_free(&layouts[i].type));
}

/* What MPI gets is origin; offsets may be negative. */
struct buffer {
  long cell[CELLS];
  long *origin;
};
static inline void blank(struct buffer *buffer, long what) {
  for (int i = 0; i < CELLS; ++i) buffer->cell[i] = -(what * CELLS + i);
  buffer->origin = buffer->cell + ORIGIN;
}

/* Items tell who made them and which one they are. */
static inline long value_of(int from, int item, int part) { return (from + 1L) * 1000000 + item * 10L + part; }
static inline void put(struct buffer *buffer, const struct layout *layout, int item, int from, int what) {
  for (int p = 0; p < PARTS; ++p)
    buffer->cell[ORIGIN + item * layout->extent + layout->offset[p]] = value_of(from, what, p);
}

#endif
