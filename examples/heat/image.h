/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a field from a greyscale picture and drawing one in colours; PNG files through libpng's simplified interface. */
#ifndef HEAT_IMAGE_H
#define HEAT_IMAGE_H

typedef struct {
  int width, height;
  double *cells; /* row by row, 0 (black, cold) to 1 (white, hot); free() when done */
} field;

/* 1 when the file was read; else 0, with one line on stderr that says why. */
int field_read(const char *path, field *out);

/* Draws 0..1 from dark blue over red to pale yellow. Answers as field_read. */
int field_draw(const char *path, const field *values);

#endif
