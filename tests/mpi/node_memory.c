/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests how much node memory the node leader touches when a communicator is created: one page for
 * each other process, with all of which it exchanges messages. (17 or more processes, because fewer
 * may use a collective segment, which is larger; tag and group are too long for a shared-memory
 * rendezvous.) */
#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

#include "session_world.h"

/* Return the touched memory of the node segment in KiB. The counts of /proc/self/status are inexact
 * in some kernels. In the process that created the segment, its name is the temporary one, "#" and
 * a number. */
static long touched_kib(void) {
  char line[1024];
  long kib = 0, value;
  int is_segment = 0;
  FILE* maps = fopen("/proc/self/smaps", "r");
  EXPECT(maps, "/proc/self/smaps");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strchr(line, '-') && strchr(line, '/'))
      is_segment = strstr(line, " rw-s ") && (strstr(line, "/intersession-") || strstr(line, "/#"));
    if (is_segment && sscanf(line, "Rss: %ld", &value) == 1) kib += value;
  }
  if (maps) fclose(maps);
  return kib;
}

/* Create the first communicator over this process alone. */
static void use_self(void) {
  MPI_Group self;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  MUST(MPI_Comm_create_from_group(self, "test.node_memory.self", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &comm));
  MUST(MPI_Group_free(&self));
  MUST(MPI_Comm_free(&comm));
}

static const char* long_tag(void) {
  static char tag[MPI_MAX_STRINGTAG_LEN];
  memset(tag, 'x', sizeof tag - 1);
  return tag;
}

/* Return the group of all with neighbouring ranks exchanged, whose encoding needs many ranges. */
static MPI_Group exchanged(MPI_Group all) {
  int* ranks = malloc(sizeof *ranks * (size_t)size);
  MPI_Group group;
  for (int i = 0; i < size; ++i)
    ranks[i] = i == 0 || (i == size - 1 && i % 2) ? i : i % 2 ? i + 1 : i - 1;
  MUST(MPI_Group_incl(all, size, ranks, &group));
  free(ranks);
  return group;
}

/* The launcher is the parent of all processes, so its pid makes the name unique. */
static const char* semaphore_name(void) {
  static char name[64];
  snprintf(name, sizeof name, "/test.node_memory.%ld", (long)getppid());
  return name;
}

/* Wait until the node leader has counted; the other processes send nothing before. */
static void wait_for_start_semaphore(void) {
  sem_t* semaphore = sem_open(semaphore_name(), O_CREAT, 0600, 0);
  EXPECT(semaphore != SEM_FAILED, "no semaphore %s", semaphore_name());
  if (rank == 0)
    for (int other = 1; other < size; ++other) sem_post(semaphore);
  else
    while (sem_wait(semaphore) != 0) {
    }
}

int main(void) {
  MPI_Group all;
  const long page_kib = sysconf(_SC_PAGESIZE) / 1024;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  use_self();
  const long before_kib = touched_kib();
  EXPECT(before_kib > 0, "no node segment");
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  MUST(MPI_Group_rank(all, &rank));
  MUST(MPI_Group_size(all, &size));
  MPI_Group group = exchanged(all);
  wait_for_start_semaphore();
  MUST(MPI_Comm_create_from_group(group, long_tag(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  const long growth_kib = touched_kib() - before_kib;
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&all));
  if (rank == 0) {
    EXPECT(sem_unlink(semaphore_name()) == 0, "no semaphore %s", semaphore_name());
    printf("%ld KiB of the node's memory for %d others\n", growth_kib, size - 1);
    /* also the slots of all, and control blocks that were not touched before */
    EXPECT(growth_kib >= (size - 1) * page_kib, "less than their messages need");
    EXPECT(growth_kib <= (size - 1 + 4) * page_kib, "%ld KiB for %d others", growth_kib, size - 1);
  }
  return close_world();
}
