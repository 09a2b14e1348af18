/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests all functions that MPI-4.1 §11.4.1 allows before initialisation, in a program that never
 * initialises MPI or a session. */
#include "session_world.h"

static int calls;
static void on_comm(MPI_Comm* which, int* code, ...) { (void)which, (void)code, ++calls; }
static void on_session(MPI_Session* which, int* code, ...) { (void)which, (void)code, ++calls; }
static void on_window(MPI_Win* which, int* code, ...) { (void)which, (void)code, ++calls; }
static void on_file(MPI_File* which, int* code, ...) { (void)which, (void)code, ++calls; }

static int on_query(void* state, MPI_Status* status) {
  (void)state;
  MUST(MPI_Status_set_elements(status, MPI_INT, 2));
  return MPI_SUCCESS;
}
static int on_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int on_cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void versions(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int version, subversion, length, flag = -1;
  MUST(MPI_Get_version(&version, &subversion));
  EXPECT(version >= 3, "version %d.%d", version, subversion);
  MUST(MPI_Get_library_version(text, &length));
  EXPECT(length > 0 && (size_t)length == strlen(text), "length %d of %s", length, text);
  EXPECT(strstr(text, "MPI") != NULL, "no version of the substrate: %s", text);
  EXPECT(strstr(text, "Intersession " INTERSESSION_VERSION) != NULL, "no own version: %s", text);
  MUST(MPI_Initialized(&flag));
  EXPECT(!flag, "initialised");
  MUST(MPI_Finalized(&flag));
  EXPECT(!flag, "finalised");
}

static void infos(int argc, char** argv) {
  MPI_Info info, copy, env;
  char key[MPI_MAX_INFO_KEY + 1], value[64];
  int n, flag, length = 64;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "key", "value"));
  MUST(MPI_Info_set(info, "other", "one"));
  MUST(MPI_Info_delete(info, "other"));
  MUST(MPI_Info_get_nkeys(info, &n));
  EXPECT(n == 1, "%d keys", n);
  MUST(MPI_Info_get_nthkey(info, 0, key));
  MUST(MPI_Info_get_string(info, key, &length, value, &flag));
  EXPECT(flag && strcmp(value, "value") == 0 && length == 6, "%s", value);
  MUST(MPI_Info_get(info, "key", 63, value, &flag));
  MUST(MPI_Info_get_valuelen(info, "key", &length, &flag));
  MUST(MPI_Info_dup(info, &copy));
  MUST(MPI_Info_free(&copy));
  MUST(MPI_Info_create_env(argc, argv, &env));
  MUST(MPI_Info_get_nkeys(env, &n));
  EXPECT(n > 0, "an empty environment");
  MUST(MPI_Info_free(&env));
  MUST_FAIL(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "none"));
  MUST_FAIL(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "x"));
  MUST_FAIL(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "x", "x"));
  MUST(MPI_Info_free(&info));
}

static void handlers(void) {
  MPI_Errhandler handler;
  MUST(MPI_Comm_create_errhandler(on_comm, &handler));
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_Session_create_errhandler(on_session, &handler));
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_Win_create_errhandler(on_window, &handler));
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_File_create_errhandler(on_file, &handler));
  MUST(MPI_Errhandler_free(&handler));
  EXPECT(handler == MPI_ERRHANDLER_NULL, "the handle is not null");
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_create_errhandler(NULL, &handler));
}

static void errors(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length, error_class, code;
  MUST(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
  EXPECT(strstr(text, "TRUNCATE") != NULL, "%s", text);
  MUST(MPI_Error_class(MPI_ERR_TRUNCATE, &error_class));
  EXPECT(error_class == MPI_ERR_TRUNCATE, "class %d", error_class);
  MUST_FAIL(MPI_ERR_ARG, MPI_Error_class(123456, &error_class));
  MUST(MPI_Add_error_class(&error_class));
  MUST(MPI_Add_error_code(error_class, &code));
  MUST(MPI_Add_error_string(code, "mine"));
  MUST(MPI_Error_string(code, text, &length));
  EXPECT(strcmp(text, "mine") == 0, "%s", text);
  MUST(MPI_Remove_error_string(code));
  MUST(MPI_Remove_error_code(code));
  MUST(MPI_Remove_error_class(error_class));
}

static void requests(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status, statuses[3];
  int flag, index, n, indices[3];
  MUST(MPI_Wait(&requests[0], &status));
  MUST(MPI_Waitall(3, requests, statuses));
  MUST(MPI_Testsome(3, requests, &n, indices, statuses));
  EXPECT(n == MPI_UNDEFINED, "%d", n);
  MUST(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
  EXPECT(flag && index == MPI_UNDEFINED, "index %d", index);
  MUST(MPI_Grequest_start(on_query, on_free, on_cancel, NULL, &requests[1]));
  MUST(MPI_Cancel(&requests[1]));
  MUST(MPI_Grequest_complete(requests[1]));
  MUST(MPI_Waitany(3, requests, &index, &status));
  MUST(MPI_Get_count(&status, MPI_INT, &n));
  EXPECT(index == 1 && n == 2, "index %d, count %d", index, n);
  MUST(MPI_Status_set_elements_c(&status, MPI_INT, 3));
  MUST(MPI_Get_count(&status, MPI_INT, &n));
  EXPECT(n == 3, "count %d", n);
  MUST(MPI_Status_set_cancelled(&status, 1));
  MUST(MPI_Test_cancelled(&status, &flag));
  EXPECT(flag, "not cancelled");
  MUST(MPI_Status_set_source(&status, 3));
  MUST(MPI_Status_set_tag(&status, 4));
  MUST(MPI_Status_set_error(&status, MPI_ERR_IO));
  MUST(MPI_Status_get_source(&status, &n));
  EXPECT(n == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_IO, "source %d", n);
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Grequest_complete(MPI_REQUEST_NULL));
  MUST(MPI_Buffer_iflush(&requests[0]));
  MUST(MPI_Wait(&requests[0], &status));
}

static void memory(void) {
  void* address;
  int bytes;
  char buffer[100], name[MPI_MAX_PROCESSOR_NAME];
  MUST(MPI_Alloc_mem(100, MPI_INFO_NULL, &address));
  memset(address, 0, 100);
  MUST(MPI_Free_mem(address));
  MUST(MPI_Buffer_attach(buffer, sizeof buffer));
  MUST(MPI_Buffer_flush());
  MUST(MPI_Buffer_detach(&address, &bytes));
  EXPECT(address == buffer && bytes == 100, "%d bytes", bytes);
  MUST(MPI_Get_processor_name(name, &bytes));
  double begin = MPI_Wtime();
  EXPECT(MPI_Wtime() >= begin && MPI_Wtick() > 0, "no time");
}

/* Fortran handles that are null or invalid. */
static void fortran(void) {
  EXPECT(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL, "communicator");
  EXPECT(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL, "session");
  EXPECT(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_NULL)) == MPI_GROUP_NULL, "group");
  EXPECT(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "request");
  EXPECT(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL, "message");
  EXPECT(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL, "info");
  EXPECT(MPI_Type_f2c(MPI_Type_c2f(MPI_DATATYPE_NULL)) == MPI_DATATYPE_NULL, "datatype");
  EXPECT(MPI_Op_f2c(MPI_Op_c2f(MPI_OP_NULL)) == MPI_OP_NULL, "operation");
  EXPECT(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL)) == MPI_ERRHANDLER_NULL,
         "error handler");
}

int main(int argc, char** argv) {
  for (int round = 0; round < 2; ++round) {
    versions();
    infos(argc, argv);
    handlers();
    errors();
    requests();
    memory();
    fortran();
  }
  EXPECT(calls == 0, "%d calls of error handlers without an object", calls);
  return verdict();
}
