/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes fields as grey PNG pictures, with libpng's simplified interface. */
#ifndef HEAT_IMAGE_H
#define HEAT_IMAGE_H

typedef struct {
  int width, height;
  double* cells; /* row by row, 0 (black, cold) to 1 (white, hot); free() when done */
} field;

/* Read a file. Return 1 on success, else 0 after one line on stderr with the reason. */
int field_read(const char* path, field* out);

/* Write values from 0 (black) to 1 (white). Return as field_read. */
int field_write(const char* path, const field* values);

#endif
