/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets one source file of an MPI_Init program use a session communicator: included before the file,
 * it replaces MPI_COMM_WORLD by a communicator that the first use makes. That use is collective. */
#ifndef RING_COMMUNICATOR_H
#define RING_COMMUNICATOR_H

#include <mpi.h>

static MPI_Comm ring_communicator(void) {
  static MPI_Comm made = MPI_COMM_NULL;
  MPI_Session session;
  MPI_Group group;
  if (made != MPI_COMM_NULL) return made;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "hpcc.ring", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
  return made; /* as long as the program */
}

#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD ring_communicator()

#endif
