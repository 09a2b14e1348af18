/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring_library.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct ring {
  MPI_Session session;
  MPI_Comm comm;
  int rank, size;
  MPI_Request requests[2];
};

ring* ring_open(void) {
  ring* r = calloc(1, sizeof *r);
  MPI_Group world;
  if (!r) return NULL;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &r->session) != MPI_SUCCESS) goto failed;
  if (MPI_Group_from_session_pset(r->session, "mpi://WORLD", &world) != MPI_SUCCESS) goto failed;
  if (MPI_Comm_create_from_group(world, "intersession.example.ring", MPI_INFO_NULL,
                                 MPI_ERRORS_RETURN, &r->comm) != MPI_SUCCESS)
    goto failed;
  MPI_Group_free(&world);
  MPI_Comm_rank(r->comm, &r->rank);
  MPI_Comm_size(r->comm, &r->size);
  r->requests[0] = r->requests[1] = MPI_REQUEST_NULL;
  return r;
failed:
  fprintf(stderr, "ring: the session could not be opened\n");
  free(r);
  return NULL;
}

int ring_rank(const ring* r) { return r->rank; }
int ring_size(const ring* r) { return r->size; }

void ring_start(ring* r, const double* to_next, double* from_before, int count) {
  int next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size;
  MPI_Irecv(from_before, count, MPI_DOUBLE, before, 0, r->comm, &r->requests[0]);
  MPI_Isend(to_next, count, MPI_DOUBLE, next, 0, r->comm, &r->requests[1]);
}

int ring_poll(ring* r) {
  int done;
  MPI_Testall(2, r->requests, &done, MPI_STATUSES_IGNORE);
  return done;
}

void ring_finish(ring* r) { MPI_Waitall(2, r->requests, MPI_STATUSES_IGNORE); }

void ring_close(ring* r) {
  MPI_Comm_free(&r->comm);
  MPI_Session_finalize(&r->session);
  free(r);
}
