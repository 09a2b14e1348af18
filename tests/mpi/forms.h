/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls a collective in one of its six forms. */
#ifndef TESTS_FORMS_H
#define TESTS_FORMS_H

#include "session_world.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT, BLOCKING_C, NONBLOCKING_C, PERSISTENT_C, FORMS };
static const char* const form_names[] = {
    "blocking",        "non-blocking",        "persistent",
    "blocking, large", "non-blocking, large", "persistent, large"};

#define MPI_Barrier_c MPI_Barrier
#define MPI_Ibarrier_c MPI_Ibarrier
#define MPI_Barrier_init_c MPI_Barrier_init

static inline void wait_for(MPI_Request* request) { MUST(MPI_Wait(request, MPI_STATUS_IGNORE)); }
static inline void start_and_wait(MPI_Request* request) {
  MUST(MPI_Start(request));
  wait_for(request);
  MUST(MPI_Request_free(request));
}

/* Call a collective in the given form. SMALL and LARGE are argument lists in parentheses. */
#define FORM_ARGUMENTS(...) __VA_ARGS__
#define RUN_V(form, X, IX, XINIT, SMALL, LARGE)                                   \
  do {                                                                            \
    MPI_Request run_request = MPI_REQUEST_NULL;                                   \
    switch (form) {                                                               \
      case BLOCKING:                                                              \
        MUST(MPI_##X SMALL);                                                      \
        break;                                                                    \
      case NONBLOCKING:                                                           \
        MUST(MPI_##IX(FORM_ARGUMENTS SMALL, &run_request));                       \
        wait_for(&run_request);                                                   \
        break;                                                                    \
      case PERSISTENT:                                                            \
        MUST(MPI_##XINIT(FORM_ARGUMENTS SMALL, MPI_INFO_NULL, &run_request));     \
        start_and_wait(&run_request);                                             \
        break;                                                                    \
      case BLOCKING_C:                                                            \
        MUST(MPI_##X##_c LARGE);                                                  \
        break;                                                                    \
      case NONBLOCKING_C:                                                         \
        MUST(MPI_##IX##_c(FORM_ARGUMENTS LARGE, &run_request));                   \
        wait_for(&run_request);                                                   \
        break;                                                                    \
      default:                                                                    \
        MUST(MPI_##XINIT##_c(FORM_ARGUMENTS LARGE, MPI_INFO_NULL, &run_request)); \
        start_and_wait(&run_request);                                             \
        break;                                                                    \
    }                                                                             \
  } while (0)
/* As RUN_V, for calls without arrays, whose argument lists are equal. */
#define RUN(form, X, IX, XINIT, ...) RUN_V(form, X, IX, XINIT, (__VA_ARGS__), (__VA_ARGS__))

#endif
