/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures memory, descriptors and threads of this process. */
#pragma once

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include "session_world.h"

/* Return the number of entries of a kernel folder that begin with a prefix. */
static inline int entries_of(const char* path, const char* prefix) {
  int count = 0;
  DIR* folder = opendir(path);
  EXPECT(folder, "%s", path);
  for (struct dirent* entry; folder && (entry = readdir(folder));)
    count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  if (folder) closedir(folder);
  return count;
}

/* Print the targets of this process's descriptors, for a failed check of their number. */
static inline void print_descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    char target[256];
    const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
    if (length > 0) fprintf(stderr, "descriptor %s: %.*s\n", entry->d_name, (int)length, target);
  }
  if (folder) closedir(folder);
}

/* Make memory measurements independent of free memory in malloc, which depends on the last thread
 * that freed it: use one arena, and a separate mapping for each large block. */
static void keep_malloc_tidy(void) {
  EXPECT(mallopt(M_ARENA_MAX, 1) && mallopt(M_MMAP_THRESHOLD, 128 * 1024), "mallopt");
}

/* Return resident memory in KiB by a line of /proc/self/status (proc(5)): "VmRSS:" for all of it,
 * "RssAnon:" without shared memory. */
static long resident_kib(const char* line_of_status) {
  long kib = 0;
  const size_t length = strlen(line_of_status);
  malloc_trim(0);
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  EXPECT(status, "/proc/self/status");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, line_of_status, length) == 0) sscanf(line + length, "%ld", &kib);
  if (status) fclose(status);
  return kib;
}
