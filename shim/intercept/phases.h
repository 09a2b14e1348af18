/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the function by which Intersession reports phases to a tool. Installed as
   intersession/phases.h. Reported are the phases of MPI_Session_init, of communicator creation and
   of libfabric's start; their meaning: pmpi_tools/README.md.

   A tool defines intersession_phase, in C, with default visibility, in a library that is preloaded
   or linked into the program. Intersession looks the name up once, before its first phase. Without
   definition Intersession reports nothing, and each report costs a test of a null pointer. Of
   several tools Intersession calls the first in symbol lookup order; that tool passes the event on
   with dlsym(RTLD_NEXT, "intersession_phase"). */
#ifndef INTERSESSION_PHASES_H
#define INTERSESSION_PHASES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  INTERSESSION_PHASE_BEGINS = 0,
  INTERSESSION_PHASE_ENDS = 1,
  INTERSESSION_PHASE_FAILS = 2 /* ends with an error */
};

/* Strings live as long as the process, except the tag, which lives until the call returns. Later
 * versions add members at the end. */
typedef struct {
  size_t size;           /* of this structure in the library */
  int what;              /* INTERSESSION_PHASE_... */
  const char* phase;     /* name, e.g. "collect" */
  const char* operation; /* operation of the phase: "session", "communicator", "fabric" or "end" */
  uint64_t number;       /* of the operation, unique in the process; equal for all its phases */
  int64_t when_ns;       /* CLOCK_MONOTONIC, nanoseconds */
  int rank;              /* of this process in mpi://WORLD; -1 if not known yet */
  int world_size;        /* of mpi://WORLD; -1 if not known yet */
  const char* host;      /* the launcher's name of this node; "" if not known yet */
  /* Of a communicator's creation: string tag, or tag of MPI_Comm_create_group as text; else "" */
  const char* tag;
  int members;  /* of the communicator's group; else 0 */
  int64_t peer; /* rank in mpi://WORLD of the process whose message ended a wait; else -1 */
} intersession_phase_event;

/* Called on the thread that reaches the phase, which need not be the thread that waits in MPI, and
   may hold locks of Intersession. Must return soon and must not call MPI. Phases of one operation
   may overlap. */
void intersession_phase(const intersession_phase_event* event);

#ifdef __cplusplus
}
#endif

#endif
