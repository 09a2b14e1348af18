/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that are started and waited for: non-blocking, and persistent (made once per row). */
#ifndef BENCH_REQUEST_CASES_H
#define BENCH_REQUEST_CASES_H

#include "bench/lib/collective_cases.h"

/* Open MPI 4.1 names persistent collectives MPIX_*; in front of it Intersession provides the
 * standard names. */
#if MPI_VERSION < 4 && !defined(INTERSESSION_MPI_H)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#endif
#endif

/* Make the request of one operation, started or persistent. */
typedef void MakeRequest(MPI_Comm comm, Case* c, MPI_Request* made);

static void ibarrier(MPI_Comm comm, Case* c, MPI_Request* made) {
  (void)c;
  MPI_Ibarrier(comm, made);
}
static void ibcast(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Ibcast(c->send, c->bytes, MPI_CHAR, 0, comm, made);
}
static void ireduce(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Ireduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, 0, comm, made);
}
static void iallreduce(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Iallreduce(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm, made);
}
static void igather(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Igather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm, made);
}
static void iscatter(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Iscatter(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm, made);
}
static void iallgather(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Iallgather(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm, made);
}
static void ialltoall(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Ialltoall(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm, made);
}

static void barrier_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  (void)c;
  MPI_Barrier_init(comm, MPI_INFO_NULL, made);
}
static void bcast_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Bcast_init(c->send, c->bytes, MPI_CHAR, 0, comm, MPI_INFO_NULL, made);
}
static void reduce_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Reduce_init(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, 0, comm, MPI_INFO_NULL, made);
}
static void allreduce_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Allreduce_init(c->send, c->receive, DOUBLES, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, made);
}
static void gather_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Gather_init(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm,
                  MPI_INFO_NULL, made);
}
static void scatter_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Scatter_init(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, 0, comm,
                   MPI_INFO_NULL, made);
}
static void allgather_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Allgather_init(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm,
                     MPI_INFO_NULL, made);
}
static void alltoall_init(MPI_Comm comm, Case* c, MPI_Request* made) {
  MPI_Alltoall_init(c->send, DOUBLES, MPI_DOUBLE, c->receive, DOUBLES, MPI_DOUBLE, comm,
                    MPI_INFO_NULL, made);
}

typedef struct {
  const char* name;
  MakeRequest* make;
  int has_bytes, is_persistent;
} RequestRow;

static const RequestRow request_rows[] = {
    {"Ibarrier", ibarrier, 0, 0},
    {"Ibcast", ibcast, 1, 0},
    {"Ireduce", ireduce, 1, 0},
    {"Iallreduce", iallreduce, 1, 0},
    {"Igather", igather, 1, 0},
    {"Iscatter", iscatter, 1, 0},
    {"Iallgather", iallgather, 1, 0},
    {"Ialltoall", ialltoall, 1, 0},
    {"Barrier_init", barrier_init, 0, 1},
    {"Bcast_init", bcast_init, 1, 1},
    {"Reduce_init", reduce_init, 1, 1},
    {"Allreduce_init", allreduce_init, 1, 1},
    {"Gather_init", gather_init, 1, 1},
    {"Scatter_init", scatter_init, 1, 1},
    {"Allgather_init", allgather_init, 1, 1},
    {"Alltoall_init", alltoall_init, 1, 1},
};

/* MPICH 4.0.2 delivers data of MPI_Scatter_init and MPI_Allgather_init at the first start alone,
 * and the root's own block of MPI_Gather_init at none; among more than two processes
 * MPI_Scatter_init fails with "Invalid communicator" in MPI_Wait
 * (docs/decisions/0049-mpich-workarounds.md). */
static inline int fails_natively(const RequestRow* r) {
#if defined(MPICH_VERSION) && !defined(INTERSESSION_MPI_H)
  return r->make == gather_init || r->make == scatter_init || r->make == allgather_init;
#else
  return (void)r, 0;
#endif
}

/* A collective on the bytes of its case; `made` is the request of a persistent one. */
typedef struct {
  Case* on;
  MakeRequest* make;
  MPI_Request made;
} RequestCase;

static void make_and_wait(MPI_Comm comm, void* state) {
  RequestCase* s = state;
  MPI_Request request;
  s->make(comm, s->on, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void start_and_wait(MPI_Comm comm, void* state) {
  RequestCase* s = state;
  (void)comm;
  MPI_Start(&s->made);
  MPI_Wait(&s->made, MPI_STATUS_IGNORE);
}

#endif
