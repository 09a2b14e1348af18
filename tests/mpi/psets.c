/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints each process set that this process can name, with its members as ranks of mpi://WORLD, and
 * checks that all queries agree. The job lists the expected lines. With an argument: that set must
 * exist, even if it is not listed. */
#include "session_world.h"

static MPI_Group world_group;

/* Get a name, and check its truncation in a buffer that is too short (MPI-4.1 §11.3.2). */
static void get_name(int n, char* name) {
  int needed = 0, length = 4;
  char cut[8] = "xxxxxxx";
  MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &needed, NULL));
  EXPECT(needed > 1 && needed <= MPI_MAX_PSET_NAME_LEN, "set %d: a name of %d characters", n,
         needed);
  int given = needed;
  MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &given, name));
  EXPECT(given == needed && (int)strlen(name) + 1 == needed, "set %d: '%s' is not of length %d", n,
         name, needed);
  MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, cut));
  EXPECT(length == needed, "set %d: needs %d for the short buffer, %d before", n, length, needed);
  EXPECT(cut[3] == 0 && strncmp(cut, name, 3) == 0 && cut[4] == 'x',
         "set %d: '%s' was cut to '%.8s'", n, name, cut);
}

static void show(const char* name) {
  MPI_Group group;
  MPI_Info info;
  char text[32] = "", line[1024];
  int members = -1, found = 0, used;
  MUST(MPI_Group_from_session_pset(session, name, &group));
  MUST(MPI_Group_size(group, &members));
  MUST(MPI_Session_get_pset_info(session, name, &info));
  MUST(MPI_Info_get(info, "mpi_size", sizeof text - 1, text, &found));
  EXPECT(found && atoi(text) == members, "%s: mpi_size '%s', group of %d", name, text, members);
  MUST(MPI_Info_free(&info));
  used = snprintf(line, sizeof line, "%d: %s:", rank, name);
  for (int i = 0; i < members; ++i) {
    int in_world = -1;
    MUST(MPI_Group_translate_ranks(group, 1, &i, world_group, &in_world));
    used += snprintf(line + used, sizeof line - (size_t)used, " %d", in_world);
  }
  printf("%s\n", line);
  MUST(MPI_Group_free(&group));
}

int main(int argc, char** argv) {
  int count = 0, again = 0;
  open_world("test.psets");
  MUST(MPI_Comm_group(world, &world_group));
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  EXPECT(count >= 2, "%d sets", count);
  for (int n = 0; n < count; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN];
    get_name(n, name);
    show(name);
  }
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &again));
  EXPECT(again >= count, "the number of sets changed from %d to %d: indices must stay valid", count,
         again);
  for (int i = 1; i < argc; ++i) show(argv[i]);
  MUST(MPI_Group_free(&world_group));
  return close_world();
}
