/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests user-defined error classes, codes and strings: added before MPI_Init, between MPI_Init and
 * MPI_Finalize, and after it, and valid at all times; and error handlers, which are returned as
 * they were set. */
#include "session_world.h"

struct added {
  int class_number, code, second;
};

static struct added add(const char* when) {
  struct added made;
  char text[64];
  snprintf(text, sizeof text, "class made %s", when);
  MUST(MPI_Add_error_class(&made.class_number));
  MUST(MPI_Add_error_string(made.class_number, text));
  MUST(MPI_Add_error_code(made.class_number, &made.code));
  snprintf(text, sizeof text, "code made %s", when);
  MUST(MPI_Add_error_string(made.code, text));
  MUST(MPI_Add_error_code(MPI_ERR_IO, &made.second));
  return made;
}

static void expect_string(int code, const char* expected) {
  char text[MPI_MAX_ERROR_STRING];
  int length = -1;
  MUST(MPI_Error_string(code, text, &length));
  EXPECT(strcmp(text, expected) == 0 && length == (int)strlen(expected), "\"%s\", not \"%s\"", text,
         expected);
}

static void expect_known(const struct added* made, const char* when) {
  int error_class = -1;
  char text[64];
  MUST(MPI_Error_class(made->class_number, &error_class));
  EXPECT(error_class == made->class_number && error_class > MPI_ERR_LASTCODE, "class %d",
         error_class);
  MUST(MPI_Error_class(made->code, &error_class));
  EXPECT(error_class == made->class_number && made->code != made->class_number,
         "class %d of code %d", error_class, made->code);
  MUST(MPI_Error_class(made->second, &error_class));
  EXPECT(error_class == MPI_ERR_IO && made->second != MPI_ERR_IO, "class %d of code %d",
         error_class, made->second);
  snprintf(text, sizeof text, "class made %s", when);
  expect_string(made->class_number, text);
  snprintf(text, sizeof text, "code made %s", when);
  expect_string(made->code, text);
}

static void removal(void) {
  struct added made = add("to go");
  int error_class;
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_class(made.class_number)); /* the class has a code */
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_code(made.class_number));
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_class(MPI_ERR_IO));
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_string(made.second)); /* the code has no string */
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_code(made.code));     /* it has a string */
  expect_string(made.code, "code made to go");
  MUST(MPI_Remove_error_string(made.code));
  expect_string(made.code, "");
  MUST(MPI_Add_error_string(made.code, "anew"));
  expect_string(made.code, "anew");
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_code(made.code));
  MUST(MPI_Remove_error_string(made.code));
  MUST(MPI_Remove_error_code(made.code));
  MUST(MPI_Remove_error_code(made.second));
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_class(made.class_number)); /* it has a string */
  MUST(MPI_Remove_error_string(made.class_number));
  MUST(MPI_Remove_error_class(made.class_number));
  MUST_FAIL(MPI_ERR_ARG, MPI_Remove_error_class(made.class_number));
  MUST_FAIL(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_IO, "predefined"));
  MUST_FAIL(MPI_ERR_ARG, MPI_Add_error_string(made.second, NULL));
  MUST_FAIL(MPI_ERR_ARG, MPI_Add_error_code(made.code, &error_class));
  MUST_FAIL(MPI_ERR_ARG, MPI_Add_error_class(NULL));
}

static int calls, seen;
static void on_comm(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++calls;
  seen = *code;
}
static void on_session(MPI_Session* which, int* code, ...) {
  (void)which;
  ++calls;
  seen = *code;
}

static void call(const struct added* made, MPI_Errhandler for_comm, MPI_Errhandler for_session) {
  MPI_Comm comm;
  MPI_Session other;
  MPI_Errhandler got;
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_set_errhandler(comm, for_comm));
  for (int i = 0; i < 2; ++i) {
    MUST(MPI_Comm_get_errhandler(comm, &got));
    EXPECT(got == for_comm, "a different handle was returned");
    MUST(MPI_Errhandler_free(&got));
    EXPECT(got == MPI_ERRHANDLER_NULL, "the handle is not null");
  }
  calls = 0;
  MUST(MPI_Comm_call_errhandler(comm, made->code));
  EXPECT(calls == 1 && seen == made->code, "%d calls, code %d", calls, seen);
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&calls, 0, MPI_INT, size + 1, 0, comm));
  EXPECT(calls == 2 && seen == MPI_ERR_RANK, "%d calls, code %d", calls, seen);
  MPI_Comm child;
  MUST(MPI_Comm_dup(comm, &child)); /* handlers are inherited */
  MUST(MPI_Comm_get_errhandler(child, &got));
  EXPECT(got == for_comm, "the duplicate has another handle");
  MUST(MPI_Errhandler_free(&got));
  MUST(MPI_Comm_free(&child));
  MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_get_errhandler(comm, &got));
  EXPECT(got == MPI_ERRORS_RETURN, "not the predefined handle");
  MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT));
  MUST(MPI_Comm_get_errhandler(comm, &got));
  EXPECT(got == MPI_ERRORS_ABORT, "not the predefined handle");
  MUST(MPI_Comm_free(&comm));

  MUST(MPI_Session_init(MPI_INFO_NULL, for_session, &other));
  MUST(MPI_Session_get_errhandler(other, &got));
  EXPECT(got == for_session, "a different handle was returned");
  MUST(MPI_Errhandler_free(&got));
  MUST(MPI_Session_call_errhandler(other, made->second));
  EXPECT(calls == 3 && seen == made->second, "%d calls, code %d", calls, seen);
  MUST(MPI_Session_finalize(&other));
}

/* A freed handler that an object still uses continues to work, and MPI_Comm_get_errhandler returns
 * a new handle for it. */
static void freed_handler(void) {
  MPI_Errhandler handler, got;
  MPI_Comm comm;
  MUST(MPI_Comm_create_errhandler(on_comm, &handler));
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_set_errhandler(comm, handler));
  MUST(MPI_Errhandler_free(&handler));
  calls = 0;
  MUST(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  EXPECT(calls == 1, "%d calls", calls);
  MUST(MPI_Comm_get_errhandler(comm, &got));
  MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(comm, got));
  MUST(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  EXPECT(calls == 2, "%d calls", calls);
  MUST(MPI_Errhandler_free(&got));
  MUST(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Errhandler for_comm, for_session, under;
  struct added early = add("before"), later;
  removal();
  expect_known(&early, "before");
  MUST(MPI_Comm_create_errhandler(on_comm, &for_comm));
  MUST(MPI_Session_create_errhandler(on_session, &for_session));
  open_world("test.error_codes");
  call(&early, for_comm, for_session);
  freed_handler();
  MPI_Init(&argc, &argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  expect_known(&early, "before");
  later = add("under");
  EXPECT(later.class_number != early.class_number && later.code != early.code,
         "two codes have the same number");
  removal();
  expect_known(&later, "under");
  call(&later, for_comm, for_session);
  MUST(MPI_Comm_create_errhandler(on_comm, &under));
  call(&early, under, for_session);
  freed_handler();
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, under));
  calls = 0;
  MUST(MPI_Comm_call_errhandler(MPI_COMM_SELF, early.code));
  EXPECT(calls == 1 && seen == early.code, "%d calls, code %d", calls, seen);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Errhandler_free(&under));
  MPI_Finalize();
  expect_known(&early, "before");
  expect_known(&later, "under");
  removal();
  call(&later, for_comm, for_session);
  MUST(MPI_Errhandler_free(&for_comm));
  MUST(MPI_Errhandler_free(&for_session));
  return close_world();
}
