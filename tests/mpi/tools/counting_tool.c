/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool as they are written everywhere: defines some MPI functions, counts, and calls the PMPI ones. It is preloaded in front
   of us and knows nothing of us; at exit it writes what it saw. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, sessions, creations, ranks;

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
  ++receives;
  return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
  ++sessions;
  return PMPI_Session_init(info, handler, session);
}

int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *comm) {
  ++creations;
  return PMPI_Comm_create_from_group(group, tag, info, handler, comm);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
  ++ranks;
  return PMPI_Comm_rank(comm, rank);
}

__attribute__((destructor)) static void report(void) {
  printf("tool: %d sessions, %d creations, %d ranks, %d sends, %d receives\n", sessions, creations, ranks, sends, receives);
}
