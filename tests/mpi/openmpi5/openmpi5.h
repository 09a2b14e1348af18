/* SPDX-License-Identifier: BSD-3-Clause */
/* The binary interface of Open MPI 5 that a program with sessions uses, declared by hand: the
 * compiled program does not depend on the installed mpi.h. Values: mpi.h of Open MPI 5.0.9. */
#ifndef TESTS_OPENMPI5_H
#define TESTS_OPENMPI5_H

#include <stddef.h>

typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_errhandler_t* MPI_Errhandler;
typedef struct ompi_group_t* MPI_Group;
typedef struct ompi_info_t* MPI_Info;
typedef struct ompi_instance_t* MPI_Session;
typedef struct ompi_op_t* MPI_Op;
typedef struct ompi_request_t* MPI_Request;
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled;
  size_t count;
} MPI_Status;

/* Handles are the addresses of these objects, whose sizes do not matter. */
#define OBJECT(structure, name) extern struct structure name;
OBJECT(ompi_predefined_communicator_t, ompi_mpi_comm_null)
OBJECT(ompi_predefined_datatype_t, ompi_mpi_int)
OBJECT(ompi_predefined_errhandler_t, ompi_mpi_errors_return)
OBJECT(ompi_predefined_errhandler_t, ompi_mpi_errors_abort)
OBJECT(ompi_predefined_group_t, ompi_mpi_group_null)
OBJECT(ompi_predefined_info_t, ompi_mpi_info_null)
OBJECT(ompi_predefined_instance_t, ompi_mpi_instance_null)
OBJECT(ompi_predefined_op_t, ompi_mpi_op_sum)
OBJECT(ompi_predefined_request_t, ompi_request_null)
extern int *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;

#define HANDLE(type, name) ((type)(void*)&(name))
#define MPI_COMM_NULL HANDLE(MPI_Comm, ompi_mpi_comm_null)
#define MPI_INT HANDLE(MPI_Datatype, ompi_mpi_int)
#define MPI_ERRORS_RETURN HANDLE(MPI_Errhandler, ompi_mpi_errors_return)
#define MPI_ERRORS_ABORT HANDLE(MPI_Errhandler, ompi_mpi_errors_abort)
#define MPI_GROUP_NULL HANDLE(MPI_Group, ompi_mpi_group_null)
#define MPI_INFO_NULL HANDLE(MPI_Info, ompi_mpi_info_null)
#define MPI_SESSION_NULL HANDLE(MPI_Session, ompi_mpi_instance_null)
#define MPI_SUM HANDLE(MPI_Op, ompi_mpi_op_sum)
#define MPI_REQUEST_NULL HANDLE(MPI_Request, ompi_request_null)

enum { MPI_SUCCESS = 0, MPI_ERR_SESSION = 78, MPI_MAX_PSET_NAME_LEN = 512, MPI_MAX_INFO_VAL = 256 };

int MPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session*);
int MPI_Session_finalize(MPI_Session*);
int MPI_Session_get_num_psets(MPI_Session, MPI_Info, int*);
int MPI_Session_get_nth_pset(MPI_Session, MPI_Info, int, int*, char*);
int MPI_Session_get_pset_info(MPI_Session, const char*, MPI_Info*);
int MPI_Session_set_errhandler(MPI_Session, MPI_Errhandler);
int MPI_Session_get_errhandler(MPI_Session, MPI_Errhandler*);
int MPI_Group_from_session_pset(MPI_Session, const char*, MPI_Group*);
int MPI_Group_free(MPI_Group*);
int MPI_Comm_create_from_group(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*);
int MPI_Comm_rank(MPI_Comm, int*);
int MPI_Comm_size(MPI_Comm, int*);
int MPI_Comm_free(MPI_Comm*);
int MPI_Error_class(int, int*);
int MPI_Errhandler_free(MPI_Errhandler*);
int MPI_Info_get_string(MPI_Info, const char*, int*, char*, int*);
int MPI_Info_free(MPI_Info*);
int MPI_Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int MPI_Wait(MPI_Request*, MPI_Status*);

#endif
