/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests attributes on session communicators, and on world-model communicators under the same keys.
 * The callbacks write a log, which is compared with the expected log. With the argument "world",
 * MPI_Init and MPI_Finalize are called in between. */
#include "session_world.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* for the functions of MPI-1 */

static char got[4096], expected[4096];
static int copy_code, delete_code, copy_flag = 1;

static void note(const char* what, int key, void* value, void* extra) {
  sprintf(got + strlen(got), "%s key%+d value %d extra %d\n", what, key == *(int*)extra,
          (int)(MPI_Aint)value, ((int*)extra)[1]);
}
static int copy(MPI_Comm from, int key, void* extra, void* in, void* out, int* flag) {
  int n = -1;
  MPI_Comm_size(from, &n); /* the communicator works in callbacks */
  EXPECT(n >= 1, "size %d in a callback", n);
  note("copy", key, in, extra);
  *(void**)out = (void*)((MPI_Aint)in + 1);
  *flag = copy_flag;
  return copy_code;
}
static int delete (MPI_Comm from, int key, void* value, void* extra) {
  int n = -1;
  MPI_Comm_size(from, &n);
  EXPECT(n >= 1, "size %d in a callback", n);
  note("delete", key, value, extra);
  return delete_code;
}
/* The extra state of a key. It is large, so that the key number is the first word and the
 * distinguishing value the second one. */
typedef struct {
  int key, name;
} State;

#define EXPECT_CALLS(...)                                                            \
  do {                                                                               \
    sprintf(expected, __VA_ARGS__);                                                  \
    EXPECT(strcmp(got, expected) == 0, "called:\n%sinstead of:\n%s", got, expected); \
    got[0] = '\0';                                                                   \
  } while (0)

static void* value_of(MPI_Comm comm, int key) {
  void* value = NULL;
  int flag = -1;
  MUST(MPI_Comm_get_attr(comm, key, &value, &flag));
  return flag ? value : (void*)-1;
}
#define V(n) ((void*)(MPI_Aint)(n))

/* Set, copy and delete attributes of two keys with callbacks on a communicator. */
static void attribute_lifecycle(MPI_Comm comm, const State* a, const State* b) {
  MPI_Comm one, two, none = MPI_COMM_WORLD;
  MUST(MPI_Comm_dup(comm, &one));
  EXPECT(value_of(one, a->key) == V(-1), "a value that was never set");
  MUST(MPI_Comm_set_attr(one, a->key, V(10)));
  MUST(MPI_Comm_set_attr(one, b->key, V(20)));
  EXPECT_CALLS("%s", "");
  EXPECT(value_of(one, a->key) == V(10) && value_of(one, b->key) == V(20), "values");
  MUST(MPI_Comm_set_attr(one, a->key, V(11))); /* the old value is deleted */
  EXPECT_CALLS("delete key+1 value 10 extra %d\n", a->name);
  MUST(MPI_Comm_dup(one, &two));
  EXPECT(strstr(got, "copy key+1 value 11") && strstr(got, "copy key+1 value 20"), "copied: %s",
         got);
  got[0] = '\0';
  EXPECT(value_of(two, a->key) == V(12) && value_of(two, b->key) == V(21), "copies");
  copy_flag = 0;
  MPI_Comm three;
  MUST(MPI_Comm_dup(two, &three));
  copy_flag = 1;
  EXPECT(value_of(three, a->key) == V(-1) && value_of(three, b->key) == V(-1),
         "copied although the callback set flag to 0");
  got[0] = '\0';
  MUST(MPI_Comm_free(&three));
  EXPECT_CALLS("%s", "");
  MUST(MPI_Comm_delete_attr(two, a->key));
  EXPECT_CALLS("delete key+1 value 12 extra %d\n", a->name);
  EXPECT(value_of(two, a->key) == V(-1), "a value after its deletion");
  delete_code =
      MPI_ERR_OTHER; /* callbacks that fail make the call fail, and no attribute is lost */
  EXPECT(MPI_Comm_delete_attr(two, b->key) != MPI_SUCCESS, "delete");
  EXPECT(MPI_Comm_set_attr(two, b->key, V(5)) != MPI_SUCCESS, "set");
  delete_code = MPI_SUCCESS;
  EXPECT(value_of(two, b->key) == V(21), "the value has changed");
  copy_code = MPI_ERR_OTHER;
  EXPECT(MPI_Comm_dup(two, &none) != MPI_SUCCESS, "dup");
  copy_code = MPI_SUCCESS;
  EXPECT(none == MPI_COMM_NULL, "a duplicate although the callback failed");
  got[0] = '\0';
  MUST(MPI_Comm_free(&two));
  EXPECT_CALLS("delete key+1 value 21 extra %d\n", b->name);
  MUST(MPI_Comm_disconnect(&one));
  EXPECT(strstr(got, "delete key+1 value 11") && strstr(got, "delete key+1 value 20"),
         "deleted: %s", got);
  got[0] = '\0';
}

/* Check keys that use the predefined callbacks. */
static void predefined(MPI_Comm comm) {
  int kept, lost, old;
  MPI_Comm one, two;
  MUST(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL));
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &lost, NULL));
  MUST(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &old, NULL));
  MUST(MPI_Comm_dup(comm, &one));
  MUST(MPI_Comm_set_attr(one, kept, V(1)));
  MUST(MPI_Comm_set_attr(one, lost, V(2)));
  MUST(MPI_Attr_put(one, old, V(3)));
  MUST(MPI_Comm_dup(one, &two));
  EXPECT(value_of(two, kept) == V(1) && value_of(two, lost) == V(-1) && value_of(two, old) == V(3),
         "copies");
  void* value = NULL;
  int flag = 0, saved = kept;
  MUST(MPI_Attr_get(two, old, &value, &flag));
  EXPECT(flag && value == V(3), "MPI_Attr_get");
  MUST(MPI_Attr_delete(two, old));
  MUST(MPI_Attr_get(two, old, &value, &flag));
  EXPECT(!flag, "a value after MPI_Attr_delete");
  MUST(MPI_Comm_free_keyval(
      &kept)); /* the key is in use: cached values remain until they are deleted */
  EXPECT(kept == MPI_KEYVAL_INVALID, "the key handle is not MPI_KEYVAL_INVALID");
  EXPECT(value_of(two, saved) == V(1), "a value was deleted with its key");
  MUST(MPI_Comm_delete_attr(two, saved));
  MUST(MPI_Comm_free_keyval(&lost));
  MUST(MPI_Keyval_free(&old));
  EXPECT(old == MPI_KEYVAL_INVALID, "the key handle is not MPI_KEYVAL_INVALID");
  MUST(MPI_Comm_free(&two));
  MUST(MPI_Comm_free(&one));
}

/* Callbacks on datatypes. */
static int copy_type(MPI_Datatype from, int key, void* extra, void* in, void* out, int* flag) {
  int n = -1;
  MPI_Type_size(from, &n);
  EXPECT(n == 8, "size %d in a callback", n);
  note("copy", key, in, extra);
  *(void**)out = (void*)((MPI_Aint)in + 1);
  *flag = copy_flag;
  return copy_code;
}
static int delete_type(MPI_Datatype from, int key, void* value, void* extra) {
  int n = -1;
  MPI_Type_size(from, &n);
  EXPECT(n == 8, "size %d in a callback", n);
  note("delete", key, value, extra);
  return delete_code;
}

static void on_types(const State* a, const State* b, int ours) {
  MPI_Datatype one, two, none = MPI_INT;
  void* value = NULL;
  int flag = -1;
  MUST(MPI_Type_contiguous(2, MPI_INT, &one));
  MUST(MPI_Type_get_attr(one, a->key, &value, &flag));
  EXPECT(!flag, "a value that was never set");
  MUST(MPI_Type_set_attr(one, a->key, V(10)));
  MUST(MPI_Type_set_attr(one, b->key, V(20)));
  MUST(MPI_Type_set_attr(one, a->key, V(11)));
  EXPECT_CALLS("delete key+1 value 10 extra %d\n", a->name);
  MUST(MPI_Type_dup(one, &two));
  EXPECT(strstr(got, "copy key+1 value 11") && strstr(got, "copy key+1 value 20"), "copied: %s",
         got);
  got[0] = '\0';
  MUST(MPI_Type_get_attr(two, b->key, &value, &flag));
  EXPECT(flag && value == V(21), "copy");
  MUST(MPI_Type_delete_attr(two, b->key));
  EXPECT_CALLS("delete key+1 value 21 extra %d\n", b->name);
  copy_code = MPI_ERR_OTHER;
  EXPECT(MPI_Type_dup(two, &none) != MPI_SUCCESS, "dup");
  EXPECT(!ours || none == MPI_DATATYPE_NULL, "a duplicate although the callback failed");
  copy_code = MPI_SUCCESS;
  got[0] = '\0';
  MUST(MPI_Type_free(&two));
  EXPECT_CALLS("delete key+1 value 12 extra %d\n", a->name);
  MUST(MPI_Type_free(&one));
  EXPECT(strstr(got, "delete key+1 value 11") && strstr(got, "delete key+1 value 20"),
         "deleted: %s", got);
  got[0] = '\0';
}
static void make_for_types(State* state) {
  MUST(MPI_Type_create_keyval(copy_type, delete_type, &state->key, state));
  EXPECT(state->key != MPI_KEYVAL_INVALID, "no key");
}

static State type_a = {0, 104}, type_b = {0, 105}, under_type = {0, 106}, before_a = {0, 100},
             before_b = {0, 101}, under_a = {0, 102}, under_b = {0, 103};

static void make(State* state) {
  MUST(MPI_Comm_create_keyval(copy, delete, &state->key, state));
  EXPECT(state->key != MPI_KEYVAL_INVALID, "no key");
}

/* An error code of a callback is returned unchanged (MPI-4.1 §7.7.2). */
static void own_codes(const State* key) {
  int own_class, own_code;
  MPI_Comm one, none = world;
  MUST(MPI_Add_error_class(&own_class));
  MUST(MPI_Add_error_code(own_class, &own_code));
  MUST(MPI_Comm_dup(world, &one));
  MUST(MPI_Comm_set_attr(one, key->key, V(1)));
  copy_code = own_class;
  EXPECT(MPI_Comm_dup(one, &none) == own_class && none == MPI_COMM_NULL, "the class");
  copy_code = own_code;
  EXPECT(MPI_Comm_dup(one, &none) == own_code, "the code");
  copy_code = 123456; /* no valid error code */
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_dup(one, &none));
  copy_code = MPI_SUCCESS;
  MUST(MPI_Comm_free(&one));
  got[0] = '\0';
}

/* Predefined datatypes have names and attributes, also while the native library is not initialised.
 */
static void on_predefined_types(void) {
  int key, flag, length;
  void* value = NULL;
  char name[MPI_MAX_OBJECT_NAME];
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  MUST(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
  EXPECT(!flag, "a value that was never set");
  MUST(MPI_Type_set_attr(MPI_INT, key, V(3)));
  MUST(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
  EXPECT(flag && value == V(3), "not kept");
  MUST(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag));
  EXPECT(!flag, "a value of another type");
  MUST(MPI_Type_delete_attr(MPI_INT, key));
  MUST(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
  EXPECT(!flag, "not deleted");
  MUST(MPI_Type_free_keyval(&key));
  MUST(MPI_Type_get_name(MPI_INT, name, &length));
  EXPECT(strcmp(name, "MPI_INT") == 0, "%s", name);
  MUST(MPI_Type_set_name(MPI_INT, "number"));
  MUST(MPI_Type_get_name(MPI_INT, name, &length));
  EXPECT(strcmp(name, "number") == 0 && length == 6, "%s", name);
  MUST(MPI_Type_set_name(MPI_INT, "MPI_INT"));
}

static void misuse(void) {
  int key = MPI_KEYVAL_INVALID, flag;
  void* value;
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_KEYVAL_INVALID, NULL));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_get_attr(world, MPI_KEYVAL_INVALID, &value, &flag));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, MPI_KEYVAL_INVALID));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_TAG_UB, &key));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, MPI_TAG_UB));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, 123456, &key));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_get_attr(world, before_a.key, NULL, &flag));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_get_attr(world, before_a.key, &value, NULL));
  MPI_Comm copy_of_world, stale;
  MUST(MPI_Comm_dup(world, &copy_of_world));
  stale = copy_of_world;
  MUST(MPI_Comm_free(&copy_of_world));
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  (void)stale;
}

static void environment(void) {
  int *value = NULL, flag = 0;
  MUST(MPI_Comm_get_attr(world, MPI_UNIVERSE_SIZE, &value, &flag));
  EXPECT(flag && *value == size, "MPI_UNIVERSE_SIZE");
  MUST(MPI_Comm_get_attr(world, MPI_APPNUM, &value, &flag));
  EXPECT(flag && *value == 0, "MPI_APPNUM");
  MUST(MPI_Comm_get_attr(world, MPI_LASTUSEDCODE, &value, &flag));
  EXPECT(flag && *value >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE");
}

int main(int argc, char** argv) {
  make(&before_a); /* before the first session and before MPI_Init */
  make(&before_b);
  open_world("test.attributes");
  attribute_lifecycle(world, &before_a, &before_b);
  predefined(world);
  make_for_types(&type_a);
  make_for_types(&type_b);
  on_types(&type_a, &type_b, 1);
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, type_a.key, NULL));
  on_predefined_types();
  own_codes(&before_a);
  environment();
  misuse();
  if (argc > 1 && strcmp(argv[1], "world") == 0) {
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    make(&under_a); /* key of the native library */
    make(&under_b);
    make_for_types(&under_type);
    on_types(&type_a, &type_b, 0); /* native types, keys of Intersession */
    on_types(&type_a, &under_type, 0);
    attribute_lifecycle(world, &under_a, &under_b);
    attribute_lifecycle(MPI_COMM_SELF, &under_a, &under_b);
    attribute_lifecycle(MPI_COMM_SELF, &before_a,
                        &before_b); /* Intersession's keys, through native handles */
    attribute_lifecycle(world, &before_b, &under_a);
    attribute_lifecycle(MPI_COMM_SELF, &under_b, &before_a);
    predefined(world);
    predefined(MPI_COMM_SELF);
    MUST(MPI_Comm_set_attr(world, under_a.key, V(7)));
    MPI_Finalize();
    EXPECT(value_of(world, under_a.key) == V(7), "a value was deleted with the world model");
    on_types(&type_a, &under_type, 1);
    MUST(MPI_Type_free_keyval(&under_type.key));
    MUST(MPI_Comm_delete_attr(world, under_a.key));
    got[0] = '\0';
    attribute_lifecycle(world, &under_a, &before_b);
    MUST(MPI_Comm_free_keyval(&under_a.key));
    MUST(MPI_Comm_free_keyval(&under_b.key));
    predefined(world);
  }
  int stale = before_a.key;
  MUST(MPI_Comm_free_keyval(&before_a.key));
  MUST_FAIL(MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, stale, NULL));
  MUST(MPI_Comm_free_keyval(&before_b.key));
  return close_world();
}
