/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tool has to define to hear of the phases inside MPI_Session_init and the making of communicators, and of libfabric's start; installed as
   intersession/phases.h. The phases and their meaning: pmpi_tools/README.md.

   A tool defines intersession_phase, in C, with default visibility, in a library that comes with the program (preloaded or linked).
   Intersession looks for that name once, before its first phase. Where nobody defines it, nothing is told, and each place that
   would tell is a test of a null pointer. Of several tools the first in the order of symbol lookup is called; it passes the event on
   to the next with dlsym(RTLD_NEXT, "intersession_phase"). */
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
  INTERSESSION_PHASE_FAILS = 2 /* it has begun, and ends with an error */
};

/* Texts live as long as the process, but for the tag, which lives until the call returns. Later versions add members at the end. */
typedef struct {
  size_t size;           /* of this structure, as the library has it */
  int what;              /* INTERSESSION_PHASE_... */
  const char *phase;     /* its name, e.g. "collect" */
  const char *operation; /* what it is a phase of: "session", "communicator", "fabric" or "end" */
  uint64_t number;       /* which operation; phases of one have the same number, and no two operations of a process */
  int64_t when_ns;       /* CLOCK_MONOTONIC, nanoseconds */
  int rank;              /* of this process in mpi://WORLD; -1 while the launcher has not said it */
  int world_size;        /* of mpi://WORLD; -1 likewise */
  const char *host;      /* what the launcher calls this node; "" likewise */
  const char *tag;       /* of a communicator's creation: the string tag, or the number of MPI_Comm_create_group as text; else "" */
  int members;           /* of its group; else 0 */
  int64_t peer;          /* rank in mpi://WORLD of the process whose message ended a wait; -1 where there is none */
} intersession_phase_event;

/* Called on the thread that has come so far, which need not be the one that waits in MPI, and may hold locks of Intersession's: returns
   soon and calls no MPI function. Phases of one operation may overlap. */
void intersession_phase(const intersession_phase_event *event);

#ifdef __cplusplus
}
#endif

#endif
