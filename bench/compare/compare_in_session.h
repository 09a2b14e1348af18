/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_COMPARE_IN_SESSION_H
#define BENCH_COMPARE_IN_SESSION_H

#include "bench/compare/compare.h"

/* Run the rows of compare.h on a communicator of all processes, in a session of its own. */
static int compare_rows_in_session(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) return 1;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, "intersession.bench.compare", MPI_INFO_NULL,
                                 MPI_ERRORS_ARE_FATAL, &comm) != MPI_SUCCESS)
    return 1;
  MPI_Group_free(&group);
  const int failed = compare_rows(comm, argc, argv);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return failed;
}

#endif
