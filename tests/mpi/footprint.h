/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process holds: memory, descriptors, threads. */
#pragma once

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include "session_world.h"

/* Entries of a folder of the kernel's, those that begin like this. */
static inline int entries_of(const char *path, const char *prefix) {
  int count = 0;
  DIR *folder = opendir(path);
  EXPECT(folder, "%s", path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  if (folder) closedir(folder);
  return count;
}

/* What is free in malloc is not counted: it depends on which thread gave it back last. So there is one arena, and every large
 * block is a mapping of its own. */
static void keep_malloc_tidy(void) {
  EXPECT(mallopt(M_ARENA_MAX, 1) && mallopt(M_MMAP_THRESHOLD, 128 * 1024), "mallopt");
}

/* Resident memory by a line of proc(5)'s status: "VmRSS:" all of it, "RssAnon:" without memory that is shared. */
static long resident_kib(const char *line_of_status) {
  long kib = 0;
  const size_t length = strlen(line_of_status);
  malloc_trim(0);
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  EXPECT(status, "/proc/self/status");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, line_of_status, length) == 0) sscanf(line + length, "%ld", &kib);
  if (status) fclose(status);
  return kib;
}
