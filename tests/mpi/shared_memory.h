/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures and fills the shared memory of a node, for test programs with their own /dev/shm. */
#ifndef TESTS_SHARED_MEMORY_H
#define TESTS_SHARED_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "session_world.h"

static const char filler[] = "/dev/shm/filler";

static inline long used_memory(void) {
  struct statvfs memory;
  EXPECT(statvfs("/dev/shm", &memory) == 0, "%s", strerror(errno));
  return (long)((memory.f_blocks - memory.f_bfree) * memory.f_frsize);
}

/* Fill the shared memory except for this number of bytes, if it has as many. */
static inline void fill_but(long bytes) {
  static char page[4096];
  const int file = open(filler, O_CREAT | O_WRONLY, 0600);
  struct stat filled;
  while (write(file, page, sizeof page) > 0) continue;
  EXPECT(errno == ENOSPC, "%s", strerror(errno));
  EXPECT(fstat(file, &filled) == 0 &&
             ftruncate(file, filled.st_size > bytes ? filled.st_size - bytes : 0) == 0,
         "%s", strerror(errno));
  close(file);
}
static inline void fill(void) { fill_but(0); }
static inline void make_room(void) { EXPECT(unlink(filler) == 0, "%s", strerror(errno)); }

#endif
