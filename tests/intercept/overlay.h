/* SPDX-License-Identifier: BSD-3-Clause
   Uses all declarations that a Sessions program needs beyond the mpi.h of an older library.
   abi/ has the values that programs compiled with a newer library contain. */
#pragma once

#include <mpi.h>

#include "overlay_values.h"

#ifdef __cplusplus
extern "C" {
#endif

extern int overlay_sees_the_sessions_model(void);
extern void overlay_handler(MPI_Session* session, int* code, ...);

int overlay_sees_the_sessions_model(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_errhandler_function* function = overlay_handler;
  MPI_Errhandler handler = MPI_ERRORS_ABORT;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  char name[MPI_MAX_PSET_NAME_LEN];
  int count = 0, length = MPI_MAX_PSET_NAME_LEN;
  MPI_Count large = 1;
  return MPI_Session_create_errhandler(function, &handler) +
         MPI_Session_init(info, handler, &session) +
         MPI_Session_get_num_psets(session, info, &count) +
         MPI_Session_get_nth_pset(session, info, 0, &length, name) +
         MPI_Session_get_pset_info(session, name, &info) +
         MPI_Group_from_session_pset(session, name, &group) +
         MPI_Comm_create_from_group(group, "overlay", info, handler, &comm) +
         PMPI_Barrier_init(comm, info, &request) + MPI_Send_c(name, large, MPI_CHAR, 0, 0, comm) +
         MPI_Info_create_env(0, 0, &info) + MPI_Session_finalize(&session) +
         (int)MPI_Session_c2f(session);
}

#ifdef __cplusplus
}
#endif
