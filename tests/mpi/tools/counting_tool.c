/* SPDX-License-Identifier: BSD-3-Clause */
/* A usual PMPI tool: defines some MPI functions, counts calls, and calls the PMPI functions. It is
 * preloaded before Intersession and has no code for it; at exit it prints the counts. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, sessions, creations, ranks;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  ++receives;
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  ++sessions;
  return PMPI_Session_init(info, handler, session);
}

int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info,
                               MPI_Errhandler handler, MPI_Comm* comm) {
  ++creations;
  return PMPI_Comm_create_from_group(group, tag, info, handler, comm);
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  ++ranks;
  return PMPI_Comm_rank(comm, rank);
}

__attribute__((destructor)) static void report(void) {
  printf("tool: %d sessions, %d creations, %d ranks, %d sends, %d receives\n", sessions, creations,
         ranks, sends, receives);
}
