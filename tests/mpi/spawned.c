/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests processes started by MPI_Comm_spawn of the native MPI: they have a world of their own, and
 * their sessions do not include the parents, whose node memory was made for fewer processes;
 * neither disturbs the other. */
#include "use_group.h"

enum { SPAWNED = 2 };

/* Collective over MPI_COMM_WORLD. */
static void use_session(const char* tag, int expected) {
  MPI_Session another;
  MPI_Group group;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &another));
  MUST(MPI_Group_from_session_pset(another, "mpi://WORLD", &group));
  MUST(MPI_Group_size(group, &size));
  EXPECT(size == expected, "mpi://WORLD has %d processes, not %d", size, expected);
  use_group(group, tag);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&another));
}

int main(int argc, char** argv) {
  MPI_Comm parents, spawned;
  int own, world_size;
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &own));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  rank = own;
  MUST(MPI_Comm_get_parent(&parents));
  if (parents == MPI_COMM_NULL) {
    open_world("test.before");
    MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, SPAWNED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &spawned,
                        MPI_ERRCODES_IGNORE));
    use_session("test.the_same_tag", world_size);
    MUST(MPI_Barrier(spawned));
    MUST(MPI_Comm_disconnect(&spawned));
    use_session("test.the_same_tag", world_size);
    MUST(MPI_Comm_free(&world));
    MUST(MPI_Session_finalize(&session));
  } else {
    use_session("test.the_same_tag", SPAWNED);
    MUST(MPI_Barrier(parents));
    MUST(MPI_Comm_disconnect(&parents));
    use_session("test.the_same_tag", SPAWNED);
  }
  MUST(MPI_Finalize());
  return verdict();
}
