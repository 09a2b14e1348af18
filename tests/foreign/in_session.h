/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program of the world model in the sessions model; -include adds this file to each source
 * file of a foreign suite. MPI_COMM_WORLD and MPI_COMM_SELF are communicators made from mpi://WORLD
 * and mpi://SELF. They are created in MPI_Init, or earlier if a program copies one to a variable,
 * and are MPI_COMM_NULL after MPI_Finalize. in_session.c has the functions. */
#ifndef TESTS_FOREIGN_IN_SESSION_H
#define TESTS_FOREIGN_IN_SESSION_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

MPI_Comm* in_session_world(void);
MPI_Comm* in_session_self(void);
int in_session_init(int* argc, char*** argv);
int in_session_init_thread(int* argc, char*** argv, int required, int* provided);
int in_session_finalize(void);
int in_session_initialized(int* flag);
int in_session_finalized(int* flag);
int in_session_query_thread(int* provided);
int in_session_is_thread_main(int* flag);

#ifdef __cplusplus
}
#endif

#ifndef TESTS_FOREIGN_IN_SESSION_C
#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#define MPI_COMM_WORLD (*in_session_world())
#define MPI_COMM_SELF (*in_session_self())
#define MPI_Init in_session_init
#define MPI_Init_thread in_session_init_thread
#define MPI_Finalize in_session_finalize
#define MPI_Initialized in_session_initialized
#define MPI_Finalized in_session_finalized
#define MPI_Query_thread in_session_query_thread
#define MPI_Is_thread_main in_session_is_thread_main
#endif

#endif
