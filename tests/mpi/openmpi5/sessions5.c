/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a program that was compiled for Open MPI 5 and uses a session, with the handles, constants
 * and statuses of that MPI. */
#include "openmpi5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static void look_at_psets(MPI_Session session, int size) {
  int count = 0, length = 0, has_size = 0, digits = MPI_MAX_INFO_VAL;
  char name[MPI_MAX_PSET_NAME_LEN], text[MPI_MAX_INFO_VAL] = "";
  EXPECT(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS && count >= 2);
  EXPECT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name) == MPI_SUCCESS &&
         length > (int)strlen("mpi://WORLD"));
  length = sizeof name;
  EXPECT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name) == MPI_SUCCESS);
  EXPECT(strcmp(name, "mpi://WORLD") == 0);
  MPI_Info info = MPI_INFO_NULL;
  EXPECT(MPI_Session_get_pset_info(session, name, &info) == MPI_SUCCESS);
  EXPECT(MPI_Info_get_string(info, "mpi_size", &digits, text, &has_size) == MPI_SUCCESS &&
         has_size && atoi(text) == size);
  EXPECT(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
}

static void send_around(MPI_Comm comm, int rank, int size) {
  int value = -1;
  MPI_Request request;
  MPI_Status status;
  EXPECT(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 7, comm, &request) == MPI_SUCCESS);
  EXPECT(MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 7, comm, &status) == MPI_SUCCESS);
  EXPECT(value == (rank + size - 1) % size && status.MPI_SOURCE == value && status.MPI_TAG == 7);
  EXPECT(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
}

int main(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler;
  int rank = -1, size = 0, sum = 0, count = 0;
  EXPECT(MPI_F08_STATUS_IGNORE == NULL && MPI_F08_STATUSES_IGNORE == NULL);
  EXPECT(class_of(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count)) ==
         MPI_ERR_SESSION);
  EXPECT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS &&
         session != MPI_SESSION_NULL);
  EXPECT(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
  EXPECT(MPI_Comm_create_from_group(group, "openmpi5", MPI_INFO_NULL, MPI_ERRORS_ABORT, &comm) ==
         MPI_SUCCESS);
  EXPECT(MPI_Group_free(&group) == MPI_SUCCESS && group == MPI_GROUP_NULL);
  EXPECT(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && MPI_Comm_size(comm, &size) == MPI_SUCCESS);
  EXPECT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS &&
         sum == size * (size - 1) / 2);
  send_around(comm, rank, size);
  look_at_psets(session, size);
  EXPECT(MPI_Session_set_errhandler(session, MPI_ERRORS_ABORT) == MPI_SUCCESS);
  EXPECT(MPI_Session_get_errhandler(session, &handler) == MPI_SUCCESS &&
         handler == MPI_ERRORS_ABORT);
  EXPECT(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  EXPECT(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
  EXPECT(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
  if (failures == 0) fputs("test passed\n", stdout);
  return failures != 0;
}
