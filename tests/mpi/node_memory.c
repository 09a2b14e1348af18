/* SPDX-License-Identifier: BSD-3-Clause */
/* What the node's root touches of the node's memory when a communicator is made: a page for each of the others, all of whom it hears of
   and answers. (17 or more processes, as fewer may meet at a board, which takes more.) */
#include <unistd.h>

#include "session_world.h"

/* Of the node segment, exactly; a process's own counts of its pages lag behind in some kernels. Who made the segment has it by the name that
   it had before it got one: "#" and a number. */
static long touched_kib(void) {
  char line[1024];
  long kib = 0, value;
  int is_segment = 0;
  FILE *maps = fopen("/proc/self/smaps", "r");
  EXPECT(maps, "/proc/self/smaps");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strchr(line, '-') && strchr(line, '/')) is_segment = strstr(line, " rw-s ") && (strstr(line, "/intersession-") || strstr(line, "/#"));
    if (is_segment && sscanf(line, "Rss: %ld", &value) == 1) kib += value;
  }
  if (maps) fclose(maps);
  return kib;
}

/* It is begun with, but there are no others. */
static void use_self(void) {
  MPI_Group self;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  MUST(MPI_Comm_create_from_group(self, "test.node_memory.self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Group_free(&self));
  MUST(MPI_Comm_free(&comm));
}

int main(void) {
  MPI_Group all;
  const long page_kib = sysconf(_SC_PAGESIZE) / 1024;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  use_self();
  const long before_kib = touched_kib();
  EXPECT(before_kib > 0, "no node segment");
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  MUST(MPI_Comm_create_from_group(all, "test.node_memory", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  const long growth_kib = touched_kib() - before_kib;
  MUST(MPI_Group_free(&all));
  MUST(MPI_Comm_rank(world, &rank));
  MUST(MPI_Comm_size(world, &size));
  if (rank == 0) {
    printf("%ld KiB of the node's memory for %d others\n", growth_kib, size - 1);
    /* besides, the slots of all, and the control blocks that had not been looked at */
    EXPECT(growth_kib >= (size - 1) * page_kib, "less than what they have said");
    EXPECT(growth_kib <= (size - 1 + 4) * page_kib, "%ld KiB for %d others", growth_kib, size - 1);
  }
  return close_world();
}
