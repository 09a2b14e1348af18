/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the communicator of a program that tests a library, and checks the program's results.
 *
 * STACK_MODE in the environment selects the communicator:
 *   native          MPI_COMM_WORLD; the program is compiled with STACK_NATIVE, and Intersession is
 *                   not linked
 *   session, served a communicator of a session; the program does not call MPI_Init
 *   world           the same, after MPI_Init
 * The functions are collective over all processes of the job. The last output of rank 0 is read by
 * tests/stack/run: each check, whether the native MPI is initialized, and "passed" or "failed". */
#ifndef TESTS_STACK_COMMUNICATOR_H
#define TESTS_STACK_COMMUNICATOR_H

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  MPI_Comm comm;
  int rank, size, calls_init, checks, failures;
#ifndef STACK_NATIVE
  MPI_Session session;
  double packets_at_begin;
#endif
} stack;

#ifndef STACK_NATIVE
static MPI_Comm stack_session_communicator(void) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &stack.session);
  MPI_Group_from_session_pset(stack.session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "stack", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

/* Return the number of packets that this process has sent through Intersession. */
static double stack_packets(void) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  MPI_Info counts;
  int flag;
  MPIX_Session_get_counts(stack.session, &counts);
  MPI_Info_get(counts, "node_packets", MPI_MAX_INFO_VAL, value, &flag);
  MPI_Info_free(&counts);
  return flag ? atof(value) : 0;
}
#endif

/* True if the native MPI library is initialized. Intersession has a PMPI_Initialized of its own, so
 * the function is looked up in the native library. */
static int stack_native_is_initialized(void) {
  const char* names[] = {"libmpi.so.40", "libmpich.so.12"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void* library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) continue;
    int (*initialized)(int*);
    *(void**)&initialized = dlsym(library, "PMPI_Initialized");
    int flag = -1;
    initialized(&flag);
    return flag;
  }
  return -1;
}

/* Return the communicator that the library under test gets. */
static MPI_Comm stack_begin(void) {
  const char* mode = getenv("STACK_MODE");
  if (mode == NULL) {
    fprintf(stderr, "stack: STACK_MODE is not set; use tests/stack/run\n");
    exit(2);
  }
  stack.calls_init = strcmp(mode, "native") == 0 || strcmp(mode, "world") == 0;
  if (stack.calls_init) { /* threads of a library may call MPI: PT-Scotch's do */
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  }
#ifdef STACK_NATIVE
  stack.comm = MPI_COMM_WORLD;
#else
  stack.comm = stack_session_communicator();
  stack.packets_at_begin = stack_packets();
#endif
  MPI_Comm_rank(stack.comm, &stack.rank);
  MPI_Comm_size(stack.comm, &stack.size);
  return stack.comm;
}

/* Check that no process has an error above the bound, or one that is not a number. */
static void stack_check(const char* what, double error, double bound) {
  double largest = isnan(error) ? INFINITY : error;
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, stack.comm);
  const int is_good = largest <= bound;
  if (stack.rank == 0) {
    printf("check: %s: %g (at most %g)%s\n", what, largest, bound, is_good ? "" : ": wrong");
  }
  stack.checks++;
  stack.failures += !is_good;
}

/* Free the communicator, end MPI, and return the exit code of the program. */
static int stack_end(void) {
  const int initialized = stack_native_is_initialized();
  stack_check("processes besides the expected 4", abs(stack.size - 4), 0);
#ifndef STACK_NATIVE
  double packets = stack_packets() - stack.packets_at_begin;
  MPI_Allreduce(MPI_IN_PLACE, &packets, 1, MPI_DOUBLE, MPI_SUM, stack.comm);
  stack_check("packets through Intersession missing", packets > 0 ? 0 : 1, 0);
#endif
  if (stack.rank == 0) {
    printf("native MPI: %s\n", initialized == 1   ? "initialized"
                               : initialized == 0 ? "not initialized"
                                                  : "unknown");
    printf("%s: %d checks\n", stack.failures ? "failed" : "passed", stack.checks);
    fflush(stdout);
  }
#ifndef STACK_NATIVE
  MPI_Comm_free(&stack.comm);
  MPI_Session_finalize(&stack.session);
#endif
  /* Some libraries call MPI_Init, and some of them MPI_Finalize. */
  const int needs_finalize = stack.calls_init || initialized == 1;
  int finalized = 0;
  if (needs_finalize) MPI_Finalized(&finalized);
  if (needs_finalize && !finalized) MPI_Finalize();
  return stack.failures != 0;
}

#endif
