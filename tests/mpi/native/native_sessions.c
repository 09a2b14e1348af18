/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts calls of the native library's own session functions, and prints the count at exit. It is
 * preloaded between Intersession and the native MPI library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int calls;

/* Count a call, and forward it to the native library. */
#define COUNTED(name, parameters, arguments)           \
  int PMPI_##name parameters {                         \
    int(*below) parameters;                            \
    *(void**)&below = dlsym(RTLD_NEXT, "PMPI_" #name); \
    ++calls;                                           \
    return below arguments;                            \
  }

COUNTED(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
        (info, handler, session))
COUNTED(Session_finalize, (MPI_Session * session), (session))
COUNTED(Session_get_num_psets, (MPI_Session session, MPI_Info info, int* count),
        (session, info, count))
COUNTED(Session_get_nth_pset, (MPI_Session session, MPI_Info info, int n, int* length, char* name),
        (session, info, n, length, name))
COUNTED(Session_get_pset_info, (MPI_Session session, const char* name, MPI_Info* info),
        (session, name, info))
COUNTED(Session_get_info, (MPI_Session session, MPI_Info* info), (session, info))
COUNTED(Session_set_errhandler, (MPI_Session session, MPI_Errhandler handler), (session, handler))
COUNTED(Session_get_errhandler, (MPI_Session session, MPI_Errhandler* handler), (session, handler))
COUNTED(Session_call_errhandler, (MPI_Session session, int code), (session, code))
COUNTED(Session_create_errhandler,
        (MPI_Session_errhandler_function * function, MPI_Errhandler* handler), (function, handler))
COUNTED(Group_from_session_pset, (MPI_Session session, const char* name, MPI_Group* group),
        (session, name, group))
COUNTED(Comm_create_from_group,
        (MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm* comm),
        (group, tag, info, handler, comm))
COUNTED(Intercomm_create_from_groups,
        (MPI_Group local, int leader, MPI_Group remote, int remote_leader, const char* tag,
         MPI_Info info, MPI_Errhandler handler, MPI_Comm* comm),
        (local, leader, remote, remote_leader, tag, info, handler, comm))

__attribute__((destructor)) static void print_calls(void) {
  fprintf(stderr, "native: %d calls\n", calls);
}
