/* SPDX-License-Identifier: BSD-3-Clause */
/* How long it takes until a process has a communicator of the world, and one of itself, from a session. */
#include "startup.h"

int main(int argc, char **argv) {
  const char *const names[] = {"session_init", "world_comm", "self_comm", "session_total"};
  double t[4];
  MPI_Session session;
  MPI_Group world_group, self_group;
  MPI_Comm world, self;
  t[0] = now_ms();
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  t[1] = now_ms();
  check(MPI_Group_from_session_pset(session, "mpi://WORLD", &world_group), "mpi://WORLD");
  check(MPI_Comm_create_from_group(world_group, "intersession.bench.world", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world),
        "creation of the world");
  t[2] = now_ms();
  check(MPI_Group_from_session_pset(session, "mpi://SELF", &self_group), "mpi://SELF");
  check(MPI_Comm_create_from_group(self_group, "intersession.bench.self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self),
        "creation of self");
  t[3] = now_ms();
  double took[4] = {t[1] - t[0], t[2] - t[1], t[3] - t[2], t[2] - t[0]};
  report(world, names, took, 4);
  leave_if_asked(argc, argv, world);
  MPI_Comm_free(&self);
  MPI_Comm_free(&world);
  MPI_Group_free(&self_group);
  MPI_Group_free(&world_group);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
  return 0;
}
