/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests info objects and error handlers before initialisation, with sessions only, and with the
 * world model in between; and the choice of the error handler. */
#include "session_world.h"

static int session_calls, comm_calls, last_class;

static void on_session(MPI_Session* which, int* code, ...) {
  (void)which;
  ++session_calls;
  MPI_Error_class(*code, &last_class);
}

static void on_comm(MPI_Comm* which, int* code, ...) {
  (void)which;
  ++comm_calls;
  MPI_Error_class(*code, &last_class);
}

static void infos(void) {
  MPI_Info info, copy;
  char value[64], key[MPI_MAX_INFO_KEY];
  int flag, n, length;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "one", "1"));
  MUST(MPI_Info_set(info, "two", "zwei"));
  MUST(MPI_Info_set(info, "one", "eins"));
  MUST(MPI_Info_get_nkeys(info, &n));
  EXPECT(n == 2, "%d keys", n);
  MUST(MPI_Info_get(info, "one", 63, value, &flag));
  EXPECT(flag && strcmp(value, "eins") == 0, "value %s", value);
  MUST(MPI_Info_get_nthkey(info, 1, key));
  EXPECT(strcmp(key, "two") == 0, "key %s", key);
  MUST(MPI_Info_get_valuelen(info, "two", &length, &flag));
  EXPECT(flag && length == 4, "length %d", length);
  length = 3;
  MUST(MPI_Info_get_string(info, "two", &length, value, &flag));
  EXPECT(flag && length == 5 && strcmp(value, "zw") == 0, "cut value \"%s\", length %d", value,
         length);
  MUST(MPI_Info_dup(info, &copy));
  MUST(MPI_Info_delete(info, "one"));
  MUST(MPI_Info_get(info, "one", 63, value, &flag));
  EXPECT(!flag, "a deleted key has a value");
  MUST(MPI_Info_get(copy, "one", 63, value, &flag));
  EXPECT(flag, "the copy lost a key");
  MUST(MPI_Info_free(&copy));
  MUST(MPI_Info_free(&info));
  EXPECT(info == MPI_INFO_NULL, "the handle is not null");
}

static void hardware(void) {
  MPI_Info info;
  char value[64];
  int flag;
  MUST(MPI_Get_hw_resource_info(&info));
  MUST(MPI_Info_get(info, "hwloc://Machine", 63, value, &flag));
  EXPECT(flag && strcmp(value, "true") == 0, "a process on more than one machine: %s",
         flag ? value : "no such key");
  MUST(MPI_Info_free(&info));
}

static void session_info(void) {
  MPI_Info hints, used;
  MPI_Session other;
  char value[64];
  int flag;
  MUST(MPI_Info_create(&hints));
  MUST(MPI_Info_set(hints, "thread_level", "MPI_THREAD_SERIALIZED"));
  MUST(MPI_Session_init(hints, MPI_ERRORS_RETURN, &other));
  MUST(MPI_Session_get_info(other, &used));
  MUST(MPI_Info_get(used, "thread_level", 63, value, &flag));
  EXPECT(flag && strcmp(value, "MPI_THREAD_SERIALIZED") == 0, "thread_level %s",
         flag ? value : "the key is missing");
  MUST(MPI_Info_free(&used));
  MUST(MPI_Session_finalize(&other));
  MUST(MPI_Info_free(&hints));
  MUST(MPI_Session_get_info(session, &used));
  MUST(MPI_Info_get(used, "thread_level", 63, value, &flag));
  EXPECT(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0, "default thread_level %s",
         flag ? value : "the key is missing");
  MUST(MPI_Info_free(&used));
  MUST(MPI_Session_get_pset_info(session, "mpi://world", &used));
  MUST(MPI_Info_get(used, "mpi_size", 63, value, &flag));
  EXPECT(flag && atoi(value) == size, "mpi_size %s", flag ? value : "the key is missing");
  MUST(MPI_Info_free(&used));
}

static void handlers(MPI_Errhandler for_session, MPI_Errhandler for_comm) {
  MPI_Session other;
  MPI_Group group;
  MPI_Comm copy;
  MPI_Errhandler got;
  int value = 0;
  MUST(MPI_Session_init(MPI_INFO_NULL, for_session, &other));
  EXPECT(MPI_Group_from_session_pset(other, "mpi://nowhere", &group) != MPI_SUCCESS,
         "an unknown set");
  EXPECT(session_calls == 1 && last_class == MPI_ERR_ARG, "%d calls, class %d", session_calls,
         last_class);
  MUST(MPI_Session_get_errhandler(other, &got));
  EXPECT(got == for_session || got != MPI_ERRHANDLER_NULL, "the session's handler");
  MUST(MPI_Errhandler_free(&got));
  MUST(MPI_Session_set_errhandler(other, MPI_ERRORS_RETURN));
  MUST_FAIL(MPI_ERR_ARG, MPI_Group_from_session_pset(other, "mpi://nowhere", &group));
  EXPECT(session_calls == 1, "the old handler was called");
  MUST(MPI_Session_finalize(&other));

  MUST(MPI_Comm_dup(world, &copy));
  MUST(MPI_Comm_set_errhandler(copy, for_comm));
  EXPECT(MPI_Send(&value, 1, MPI_INT, size, 0, copy) != MPI_SUCCESS, "a rank beyond the end");
  EXPECT(comm_calls == 1 && last_class == MPI_ERR_RANK, "%d calls, class %d", comm_calls,
         last_class);
  MUST(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
  EXPECT(comm_calls == 2 && last_class == MPI_ERR_OTHER, "%d calls, class %d", comm_calls,
         last_class);
  MUST_FAIL(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, -5, world));
  EXPECT(comm_calls == 2, "another communicator's handler was called");
  MUST(MPI_Comm_free(&copy));
}

int main(void) {
  MPI_Errhandler for_session, for_comm;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  infos();
  hardware(); /* before all other calls */
  MUST(MPI_Session_create_errhandler(on_session, &for_session));
  MUST(MPI_Comm_create_errhandler(on_comm, &for_comm));
  MUST(MPI_Error_string(MPI_ERR_RANK, text, &length));
  EXPECT(length > 0, "no text");
  for (int round = 0; round < 2; ++round) {
    session_calls = comm_calls = 0;
    open_world("test.info_and_handlers");
    infos();
    hardware();
    session_info();
    handlers(for_session, for_comm);
    if (round == 0) {
      MUST(MPI_Barrier(world));
      MUST(MPI_Comm_free(&world));
      MUST(MPI_Session_finalize(&session));
    }
  }
  int code = close_world();
  infos();
  hardware(); /* after all other calls */
  MUST(MPI_Errhandler_free(&for_session));
  MUST(MPI_Errhandler_free(&for_comm));
  return code;
}
