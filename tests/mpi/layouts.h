/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes of two longs each with different memory layouts, and buffers of longs for them. */
#ifndef TESTS_LAYOUTS_H
#define TESTS_LAYOUTS_H

#include "session_world.h"

/* MAX_BLOCK: number of cells that 40 items need in any layout. */
enum { PARTS = 2, LAYOUTS = 5, SPREAD = 512, CELLS = 1 << 14, ORIGIN = 128, MAX_BLOCK = 1024 };

/* Part p of item i is at cell i * extent + offset[p]. */
struct layout {
  MPI_Datatype type;
  int extent, offset[PARTS];
};
static struct layout layouts[LAYOUTS] = {
    {.extent = 2, .offset = {0, 1}},      /* contiguous */
    {.extent = 4, .offset = {0, 2}},      /* with a hole */
    {.extent = 5, .offset = {3, 1}},      /* the second part first in memory */
    {.extent = 6, .offset = {-2, 1}},     /* partly before the base address */
    {.extent = 1, .offset = {0, SPREAD}}, /* interleaved items, like columns of a matrix */
};
static const int layout_count = LAYOUTS;

/* Return the type of a layout, whose extent MPI_Type_create_resized sets. */
static inline MPI_Datatype resized(struct layout* layout, int lower) {
  MPI_Datatype bare, made;
  int lengths[PARTS] = {1, 1};
  MPI_Aint places[PARTS] = {layout->offset[0] * (MPI_Aint)sizeof(long),
                            layout->offset[1] * (MPI_Aint)sizeof(long)};
  MUST(MPI_Type_create_hindexed(PARTS, lengths, places, MPI_LONG, &bare));
  MUST(MPI_Type_create_resized(bare, lower * (MPI_Aint)sizeof(long),
                               layout->extent * (MPI_Aint)sizeof(long), &made));
  MUST(MPI_Type_free(&bare));
  return made;
}
static inline void make_layouts(void) {
  MUST(MPI_Type_contiguous(PARTS, MPI_LONG, &layouts[0].type));
  for (int i = 1; i < layout_count; ++i) layouts[i].type = resized(&layouts[i], i == 3 ? -3 : 0);
  for (int i = 0; i < layout_count; ++i) MUST(MPI_Type_commit(&layouts[i].type));
}
static inline void free_layouts(void) {
  for (int i = 0; i < layout_count; ++i) MUST(MPI_Type_free(&layouts[i].type));
}

/* A buffer. MPI calls use origin as address; offsets may be negative. */
struct buffer {
  long cell[CELLS];
  long* origin;
};
static inline void blank(struct buffer* buffer, long what) {
  for (int i = 0; i < CELLS; ++i) buffer->cell[i] = -(what * CELLS + i);
  buffer->origin = buffer->cell + ORIGIN;
}

/* Return the value of a part of an item, which encodes its process and its number. */
static inline long value_of(int from, int item, int part) {
  return (from + 1L) * 1000000 + item * 10L + part;
}
static inline void put_cell(struct buffer* buffer, const struct layout* layout, int item, int part,
                            long value) {
  buffer->cell[ORIGIN + item * layout->extent + layout->offset[part]] = value;
}
/* Write an item into an array that begins `start` cells after the origin. */
static inline void put_from(struct buffer* buffer, int start, const struct layout* layout, int item,
                            int from, int what) {
  for (int p = 0; p < PARTS; ++p)
    buffer->cell[ORIGIN + start + item * layout->extent + layout->offset[p]] = value_of(from, what,
                                                                                        p);
}
static inline void put(struct buffer* buffer, const struct layout* layout, int item, int from,
                       int what) {
  put_from(buffer, 0, layout, item, from, what);
}

#endif
