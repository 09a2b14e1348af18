/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures memory, descriptors and threads of this process. */
#pragma once

#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>
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

/* Write the ends of a TCP socket. */
static inline void describe_socket(FILE* to, int descriptor) {
  struct sockaddr_in end[2] = {{0}};
  socklen_t bytes[2] = {sizeof end[0], sizeof end[1]};
  if (getsockname(descriptor, (struct sockaddr*)&end[0], &bytes[0]) != 0) return;
  if (end[0].sin_family != AF_INET) return;
  getpeername(descriptor, (struct sockaddr*)&end[1], &bytes[1]);
  for (int i = 0; i < 2; ++i) {
    char address[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &end[i].sin_addr, address, sizeof address);
    fprintf(to, "%s%s:%d", i == 0 ? " " : " - ", address, ntohs(end[i].sin_port));
  }
}

/* Return the targets of this process's descriptors, for a failed check of their number. The caller
 * frees the text. */
static inline char* describe_descriptors(void) {
  char* text = NULL;
  size_t length = 0;
  FILE* to = open_memstream(&text, &length);
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    char target[256];
    const ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
    if (bytes <= 0) continue;
    fprintf(to, "descriptor %s: %.*s", entry->d_name, (int)bytes, target);
    describe_socket(to, atoi(entry->d_name));
    fputc('\n', to);
  }
  if (folder) closedir(folder);
  fclose(to);
  return text;
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
