/* SPDX-License-Identifier: BSD-3-Clause */
#include "image.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char* path, const char* why) {
  fprintf(stderr, "heat: %s: %s\n", path, why);
  return 0;
}

int field_read(const char* path, field* out) {
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path)) return complain(path, image.message);
  image.format = PNG_FORMAT_GRAY;
  png_byte* pixels = malloc(PNG_IMAGE_SIZE(image));
  size_t count = (size_t)image.width * image.height;
  out->cells = malloc(count * sizeof *out->cells);
  if (!pixels || !out->cells || !png_image_finish_read(&image, NULL, pixels, 0, NULL)) {
    png_image_free(&image);
    free(pixels);
    free(out->cells);
    return complain(path, pixels && out->cells ? image.message : "out of memory");
  }
  out->width = (int)image.width;
  out->height = (int)image.height;
  for (size_t i = 0; i < count; ++i) out->cells[i] = pixels[i] / 255.0;
  free(pixels);
  return 1;
}

int field_write(const char* path, const field* values) {
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = (png_uint_32)values->width;
  image.height = (png_uint_32)values->height;
  image.format = PNG_FORMAT_GRAY;
  size_t count = (size_t)image.width * image.height;
  png_byte* pixels = malloc(count);
  if (!pixels) return complain(path, "out of memory");
  for (size_t i = 0; i < count; ++i) pixels[i] = (png_byte)(values->cells[i] * 255 + 0.5);
  int written = png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
  free(pixels);
  return written ? 1 : complain(path, image.message);
}
