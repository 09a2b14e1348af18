/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the world model that Intersession serves (INTERSESSION_WORLD=sessions): a program without a
 * session runs on session communicators, and the native library is never initialised. */
#include <dlfcn.h>
#include <stddef.h>

#include "session_world.h"

int MPIX_Query_cuda_support(void); /* mpi-ext.h of Open MPI, mpi_proto.h of MPICH */

#undef MPI_Address                                  /* Open MPI's mpi.h makes it an error */
int MPI_Address(void* location, MPI_Aint* address); /* removed by MPI-3.0 */

static MPI_Comm static_world = MPI_COMM_WORLD;
static MPI_Comm seen_by_callback = MPI_COMM_NULL;
static int deleted[4], deletions, finalized_in_callback = -1;

static int flag_of(int (*query)(int*)) {
  int flag = -1;
  MUST(query(&flag));
  return flag;
}

/* Return a function of the native library itself, which the program's calls do not reach. */
static void* native_function(const char* name) {
  const char* libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; ++i) {
    void* library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) return dlsym(library, name);
  }
  fputs("no native library\n", stderr);
  exit(1);
}

static int flag_of_native(const char* name) {
  int (*query)(int*);
  *(void**)&query = native_function(name);
  return flag_of(query);
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key;
  (void)extra;
  seen_by_callback = comm;
  deleted[deletions++] = *(int*)value;
  MPI_Finalized(&finalized_in_callback);
  return MPI_SUCCESS;
}

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)code;
  seen_by_callback = *comm;
}

static void check_handles(void) {
  MPI_Comm congruent, copy;
  MPI_Group group;
  MPI_Session own;
  int result;
  EXPECT(static_world == MPI_COMM_WORLD, "a static initialiser");
  EXPECT(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "Fortran's integer");
  EXPECT(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF, "Fortran's integer");
  MUST(MPI_Comm_compare(MPI_COMM_WORLD, static_world, &result));
  EXPECT(result == MPI_IDENT, "%d", result);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  MUST(MPI_Group_from_session_pset(own, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, "own", MPI_INFO_NULL, MPI_ERRORS_RETURN, &congruent));
  MUST(MPI_Comm_compare(MPI_COMM_WORLD, congruent, &result));
  EXPECT(result == MPI_CONGRUENT, "%d", result);
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MUST(MPI_Comm_compare(copy, congruent, &result));
  EXPECT(result == MPI_CONGRUENT, "%d", result);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&congruent));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&own));
}

static void check_names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm parent = MPI_COMM_WORLD;
  MUST(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  EXPECT(strcmp(name, "MPI_COMM_WORLD") == 0, "%s", name);
  MUST(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  EXPECT(strcmp(name, "MPI_COMM_SELF") == 0, "%s", name);
  MUST(MPI_Comm_get_parent(&parent));
  EXPECT(parent == MPI_COMM_NULL, "a parent");
}

static void check_messages(void) {
  int sum = 0, from_left = -1, left = (rank + size - 1) % size, self_size;
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &from_left, 1, MPI_INT, left, 7,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT(from_left == left, "%d", from_left);
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(sum == size * (size - 1) / 2, "%d", sum);
  MUST(MPI_Comm_size(MPI_COMM_SELF, &self_size));
  EXPECT(self_size == 1, "%d", self_size);
  MUST(MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_SELF));
}

/* Errors go to the handler of the communicator. */
static void check_free(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_free(&comm));
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_disconnect(&comm));
  EXPECT(comm == MPI_COMM_WORLD, "the handle was changed");
}

/* Calls with arrays of handles: their length is not known to the native library. */
static void check_arrays(void) {
  int ones[64], displacements[64], sent[64], received[64], wrong = 0;
  MPI_Datatype types[64];
  for (int i = 0; i < size; ++i) {
    ones[i] = 1;
    displacements[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
    sent[i] = rank * size + i;
  }
  MUST(MPI_Alltoallw(sent, ones, displacements, types, received, ones, displacements, types,
                     MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) wrong += received[i] != i * size + rank;
  EXPECT(wrong == 0, "%d wrong", wrong);
}

/* MPI_Info_create_env gives the keys and values that it gave before MPI_Init. */
static void check_environment(MPI_Info before, int argc, char** argv) {
  MPI_Info now;
  int keys, keys_before;
  MUST(MPI_Info_create_env(argc, argv, &now));
  MUST(MPI_Info_get_nkeys(before, &keys_before));
  MUST(MPI_Info_get_nkeys(now, &keys));
  EXPECT(keys == keys_before, "%d, not %d", keys, keys_before);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[1024], value_before[1024];
    int length = sizeof value, length_before = sizeof value_before, flag, flag_before;
    MUST(MPI_Info_get_nthkey(now, i, key));
    MUST(MPI_Info_get_string(now, key, &length, value, &flag));
    MUST(MPI_Info_get_string(before, key, &length_before, value_before, &flag_before));
    EXPECT(flag && flag_before && strcmp(value, value_before) == 0, "%s", key);
  }
  MUST(MPI_Info_free(&now));
}

/* Callbacks get the handles that the program knows. */
static void check_callbacks(void) {
  MPI_Errhandler handler, old;
  int key, one = 1;
  MUST(MPI_Comm_create_errhandler(on_error, &handler));
  MUST(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old));
  EXPECT(old == MPI_ERRORS_ARE_FATAL, "the initial error handler");
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&one, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
  EXPECT(seen_by_callback == MPI_COMM_WORLD, "an error handler got another handle");
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_rank(MPI_COMM_SELF, NULL));
  EXPECT(seen_by_callback == MPI_COMM_SELF, "an error handler got another handle");
  /* an error without an object goes to the handler of MPI_COMM_SELF (MPI-4.1 section 9.3) */
  seen_by_callback = MPI_COMM_NULL;
  MUST_FAIL(MPI_ERR_ARG, MPI_Alloc_mem(-1, MPI_INFO_NULL, &one));
  EXPECT(seen_by_callback == MPI_COMM_SELF, "an error without an object");
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
  MUST(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &one));
  MUST(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
  EXPECT(seen_by_callback == MPI_COMM_WORLD, "a delete function got another handle");
  MUST(MPI_Comm_free_keyval(&key));
  deletions = 0;
}

/* The text names the setting, and no action that the program has already taken. */
static void check_text_of_unsupported(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MUST(MPI_Error_string(code, text, &length));
  EXPECT(strstr(text, "INTERSESSION_WORLD=sessions") != NULL, "%s", text);
  EXPECT(strstr(text, "call MPI_Init") == NULL, "%s", text);
}

/* Errors on groups go to the handler of MPI_COMM_SELF (MPI-4.1 section 9.3). */
static void check_groups(void) {
  MPI_Group group, made;
  const int wrong = size;
  int value;
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
  MUST_FAIL(MPI_ERR_RANK, MPI_Group_incl(group, 1, &wrong, &made));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Group_union(group, MPI_GROUP_NULL, &made));
  MUST_FAIL(MPI_ERR_ARG, MPI_Group_size(group, NULL));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Group_compare(group, MPI_GROUP_NULL, &value));
  MUST(MPI_Group_free(&group));
}

/* Functions of MPI-1 that MPI-3 has removed. */
static void check_removed(void) {
  MPI_Aint now = 0, then = 1;
  MUST(MPI_Get_address(&now, &now));
  MUST(MPI_Address(&now, &then));
  EXPECT(now == then, "MPI_Address");
}

/* Functions of other chapters fail with a class; none reaches the native library. */
static void check_unsupported(void) {
  MPI_Win win;
  MPI_File file;
  MPI_Comm other;
  char port[MPI_MAX_PORT_NAME];
  char* commands[] = {"none"};
  MPI_Info info = MPI_INFO_NULL;
  int value = 0, one = 1;
  check_text_of_unsupported(
      MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                           MPI_ERRCODES_IGNORE));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, &one, &info, 0, MPI_COMM_WORLD,
                                    &other, MPI_ERRCODES_IGNORE));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
            MPI_Comm_connect("none", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Open_port(MPI_INFO_NULL, port));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Lookup_name("none", MPI_INFO_NULL, port));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Comm_join(-1, &other));
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the last set first. */
static void set_attributes_for_finalize(void) {
  static int values[] = {10, 20};
  for (int i = 0; i < 2; ++i) {
    int key;
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &values[i]));
    MUST(MPI_Comm_free_keyval(&key));
  }
}

/* A message arrives, also if its sender does not wait for it. */
static void send_before_finalize(void) {
  static char data[1 << 20];
  MPI_Request request;
  if (rank == 0 && size > 1) {
    memset(data, 'x', sizeof data);
    MUST(MPI_Isend(data, sizeof data, MPI_CHAR, size - 1, 8, MPI_COMM_WORLD, &request));
    MUST(MPI_Request_free(&request));
  }
  if (rank == size - 1 && size > 1) {
    MUST(MPI_Recv(data, sizeof data, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT(data[sizeof data - 1] == 'x', "the last byte");
  }
}

static int run(int argc, char** argv) {
  int provided = -1, is_main = 0;
  MPI_Info environment;
  MUST(MPI_Info_create_env(argc, argv, &environment));
  EXPECT(flag_of(MPI_Initialized) == 0, "initialised at load");
  MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  EXPECT(provided == MPI_THREAD_SERIALIZED, "%d", provided);
  MUST(MPI_Query_thread(&provided));
  EXPECT(provided == MPI_THREAD_SERIALIZED, "%d", provided);
  MUST(MPI_Is_thread_main(&is_main));
  EXPECT(is_main, "the thread of MPI_Init");
  EXPECT(flag_of(MPI_Initialized) == 1, "MPI_Initialized");
  EXPECT(flag_of(MPI_Finalized) == 0, "MPI_Finalized");
  EXPECT(flag_of_native("PMPI_Initialized") == 0, "the native library is initialised");
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
  check_handles();
  check_names();
  check_messages();
  check_arrays();
  check_environment(environment, argc, argv);
  check_callbacks();
  EXPECT(MPIX_Query_cuda_support() == 0, "device memory");
  check_free();
  MUST_FAIL(MPI_ERR_OTHER, MPI_Init(&argc, &argv));
  check_groups();
  check_removed();
  check_unsupported();
  MUST(MPI_Info_free(&environment));
  set_attributes_for_finalize();
  send_before_finalize();
  MUST(MPI_Finalize());
  EXPECT(deletions == 2 && deleted[0] == 20 && deleted[1] == 10, "%d deletions", deletions);
  EXPECT(seen_by_callback == MPI_COMM_SELF, "a delete function got another handle");
  EXPECT(finalized_in_callback == 0, "finalized before the delete functions have run");
  EXPECT(flag_of(MPI_Finalized) == 1, "MPI_Finalized");
  EXPECT(flag_of(MPI_Initialized) == 1, "MPI_Initialized");
  EXPECT(flag_of_native("PMPI_Initialized") == 0, "the native library is initialised");
  return verdict();
}

/* A session makes MPI_Initialized true; the predefined communicators serve libraries that name
 * them. MPI_Init may follow. */
static int run_after_session(int argc, char** argv) {
  int world_size = 0, self_rank = -1;
  open_world("own");
  EXPECT(flag_of(MPI_Initialized) == 1, "MPI_Initialized after a session");
  MUST(MPI_Comm_rank(MPI_COMM_SELF, &self_rank));
  EXPECT(self_rank == 0, "%d", self_rank);
  check_messages();
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  EXPECT(world_size == size, "%d", world_size);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  check_messages();
  MUST(MPI_Finalize());
  return verdict();
}

/* Before any call has made the communicator of MPI_COMM_WORLD: these calls do not make it, so that
 * one process may call them alone. The attributes then stay on the communicator. */
static void check_without_comms(int key) {
  static int one = 1;
  int *value = NULL, flag = 0, value_size;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Win win;
  if (rank == 0) {
    MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION,
              MPI_Win_create(&one, sizeof one, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST_FAIL(MPI_ERR_COMM, MPI_Comm_free(&comm));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &value_size));
    EXPECT(value_size == size, "%d", value_size);
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &one));
  }
  MUST(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &one));
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Barrier(MPI_COMM_SELF));
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
  EXPECT(flag && value == &one, "the attribute of MPI_COMM_WORLD");
  MUST(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
  EXPECT(flag == (rank == 0), "the attribute of MPI_COMM_SELF");
}

/* A program that never calls MPI_Init leaves nothing behind. */
static int run_without_init(void) {
  for (int i = 0; i < 3; ++i) {
    int key;
    deletions = 0;
    open_world("own");
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    check_without_comms(key);
    MUST(MPI_Comm_free_keyval(&key));
    check_messages();
    MUST(MPI_Comm_free(&world));
    EXPECT(flag_of(MPI_Initialized) == 1, "MPI_Initialized during a session");
    MUST(MPI_Session_finalize(&session));
    EXPECT(deletions == 1 + (rank == 0), "%d deletions", deletions);
    EXPECT(flag_of(MPI_Initialized) == 0, "MPI_Initialized after the last session");
    EXPECT(flag_of(MPI_Finalized) == 0, "MPI_Finalized after the last session");
  }
  return verdict();
}

/* A session after MPI_Finalize does not bring the predefined communicators back. */
static int run_after_finalize(int argc, char** argv) {
  int value, key;
  MPI_Comm comm = MPI_COMM_WORLD;
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Finalize());
  open_world("own");
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_rank(MPI_COMM_WORLD, &value));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_size(MPI_COMM_SELF, &value));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Barrier(MPI_COMM_WORLD));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_free(&comm));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Init(&argc, &argv));
  MUST(MPI_Comm_free_keyval(&key));
  return close_world();
}

/* A receive from a process that has called MPI_Finalize may be tested and cancelled, and one from
 * another process succeeds: MPI_Finalize waits for all processes. */
static int run_late_receives(int argc, char** argv) {
  enum { ready_tag = 1, data_tag = 2, never_tag = 3 };
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (rank == 0) {
    int flag, index, data[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Status status;
    MUST(MPI_Recv(NULL, 0, MPI_INT, 1, ready_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Irecv(&data[0], 1, MPI_INT, 1, never_tag, MPI_COMM_WORLD, &requests[0]));
    /* time for process 1 to end, if it does not wait for this one */
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < 0.3;) {
      MUST(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
      EXPECT(!flag, "a message that no process has sent");
    }
    MUST(MPI_Irecv(&data[1], 1, MPI_INT, 2, data_tag, MPI_COMM_WORLD, &requests[1]));
    MUST(MPI_Send(NULL, 0, MPI_INT, 2, ready_tag, MPI_COMM_WORLD));
    MUST(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    EXPECT(index == 1 && data[1] == 42, "%d: %d", index, data[1]);
    MUST(MPI_Cancel(&requests[0]));
    MUST(MPI_Wait(&requests[0], &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    EXPECT(flag, "the receive was not cancelled");
  } else if (rank == 1) {
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, ready_tag, MPI_COMM_WORLD));
  } else if (rank == 2) {
    const int data = 42;
    MUST(MPI_Recv(NULL, 0, MPI_INT, 0, ready_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Send(&data, 1, MPI_INT, 0, data_tag, MPI_COMM_WORLD));
  }
  MUST(MPI_Finalize());
  return verdict();
}

/* A library that has found MPI_Initialized true calls MPI_Finalize, without MPI_Init. */
static int run_finalize_only(void) {
  open_world("own");
  EXPECT(flag_of(MPI_Initialized) == 1, "MPI_Initialized during a session");
  if (size > 1) MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Finalize());
  EXPECT(flag_of(MPI_Finalized) == 1, "MPI_Finalized");
  return close_world();
}

/* Sessions begin and end in another order on each process, which is local. */
static int run_overlapping_sessions(int argc, char** argv) {
  open_world("own");
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Comm_free(&world));
  MPI_Session next;
  if (rank == 0) MUST(MPI_Session_finalize(&session));
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &next));
  if (rank != 0) MUST(MPI_Session_finalize(&session));
  MUST(MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Session_finalize(&next));
  check_messages();
  MUST(MPI_Finalize());
  return verdict();
}

static int fail_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)key;
  (void)value;
  (void)extra;
  return MPI_ERR_INTERN;
}

/* A delete function fails: MPI_Finalize returns its code, and has ended the world model. */
static int run_failing_delete(int argc, char** argv) {
  int key;
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_delete, &key, NULL));
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  EXPECT(MPI_Finalize() == MPI_ERR_INTERN, "MPI_Finalize returns another code");
  EXPECT(flag_of(MPI_Finalized) == 1, "MPI_Finalized");
  return verdict();
}

/* MPI_Init fails; the program goes on without the world model. */
static int run_failed_init(int argc, char** argv) {
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Init(&argc, &argv));
  EXPECT(flag_of(MPI_Initialized) == 0, "MPI_Initialized after an error");
  MUST_FAIL(MPI_ERR_OTHER, MPI_Init(&argc, &argv));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Finalize());
  return verdict();
}

/* Other code than MPI_Init has initialised the native library: a warning tells so. */
static int run_beside_native(int argc, char** argv) {
  int (*init)(int*, char***), (*finalize)(void);
  *(void**)&init = native_function("PMPI_Init");
  *(void**)&finalize = native_function("PMPI_Finalize");
  MUST(init(&argc, &argv));
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
  check_messages();
  MUST(MPI_Finalize());
  MUST(finalize());
  return verdict();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "run";
  if (strcmp(what, "run") == 0) return run(argc, argv);
  if (strcmp(what, "after_session") == 0) return run_after_session(argc, argv);
  if (strcmp(what, "without_init") == 0) return run_without_init();
  if (strcmp(what, "after_finalize") == 0) return run_after_finalize(argc, argv);
  if (strcmp(what, "late_receives") == 0) return run_late_receives(argc, argv);
  if (strcmp(what, "finalize_only") == 0) return run_finalize_only();
  if (strcmp(what, "overlapping_sessions") == 0) return run_overlapping_sessions(argc, argv);
  if (strcmp(what, "failing_delete") == 0) return run_failing_delete(argc, argv);
  if (strcmp(what, "failed_init") == 0) return run_failed_init(argc, argv);
  if (strcmp(what, "beside_native") == 0) return run_beside_native(argc, argv);
  MUST(MPI_Init(&argc, &argv));
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (strcmp(what, "abort") == 0 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(what, "abort") == 0)
    MPI_Barrier(MPI_COMM_SELF),
        MPI_Recv(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(what, "exit") == 0) exit(failures != 0);
  MUST(MPI_Finalize());
  return verdict();
}
