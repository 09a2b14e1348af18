/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests attribute callbacks that change attributes of the object that is being freed or duplicated.
 * Each value is deleted once, also a value that a callback sets. */
#include "session_world.h"

enum { FIRST, SECOND, LATE, KEYS };
static int keys[KEYS], deleted[KEYS], copied[KEYS], value;

static int index_of(int key) {
  for (int i = 0; i < KEYS; ++i)
    if (keys[i] == key) return i;
  EXPECT(0, "the key %d is unknown", key);
  return 0;
}

static int count_comm(MPI_Comm comm, int key, void* v, void* extra) {
  int flag = 0;
  void* seen;
  (void)v, (void)extra;
  ++deleted[index_of(key)];
  MUST(MPI_Comm_get_attr(comm, key, &seen, &flag));
  EXPECT(flag && seen == v, "the value is missing");
  return MPI_SUCCESS;
}
/* Delete another attribute and the callback's own, and set a new one. */
static int change_comm(MPI_Comm comm, int key, void* v, void* extra) {
  int flag = 0;
  void* seen;
  (void)extra;
  ++deleted[index_of(key)];
  MUST(MPI_Comm_get_attr(comm, keys[SECOND], &seen, &flag));
  if (flag) MUST(MPI_Comm_delete_attr(comm, keys[SECOND]));
  MUST(MPI_Comm_delete_attr(comm, key));
  MUST(MPI_Comm_set_attr(comm, keys[LATE], v));
  return MPI_SUCCESS;
}
/* Change attributes while the object is duplicated. */
static int copy_comm(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)extra;
  ++copied[index_of(key)];
  *(void**)out = in;
  *flag = 1;
  if (key != keys[FIRST]) return MPI_SUCCESS;
  MUST(MPI_Comm_delete_attr(comm, keys[SECOND]));
  MUST(MPI_Comm_set_attr(comm, keys[LATE], in));
  return MPI_SUCCESS;
}

static void expect_counts(const char* what, const int* counts, int first, int second, int late) {
  EXPECT(counts[FIRST] == first && counts[SECOND] == second && counts[LATE] == late,
         "%s: %d %d %d, not %d %d %d", what, counts[FIRST], counts[SECOND], counts[LATE], first,
         second, late);
}
static void forget_counts(void) {
  memset(deleted, 0, sizeof deleted);
  memset(copied, 0, sizeof copied);
}

static void communicators(void) {
  MPI_Comm comm, copy;
  MUST(MPI_Comm_create_keyval(copy_comm, change_comm, &keys[FIRST], NULL));
  MUST(MPI_Comm_create_keyval(copy_comm, count_comm, &keys[SECOND], NULL));
  MUST(MPI_Comm_create_keyval(copy_comm, count_comm, &keys[LATE], NULL));
  for (int order = 0; order < 2; ++order) { /* order in which the two keys are deleted */
    forget_counts();
    MUST(MPI_Comm_dup(world, &comm));
    MUST(MPI_Comm_set_attr(comm, keys[order ? FIRST : SECOND], &value));
    MUST(MPI_Comm_set_attr(comm, keys[order ? SECOND : FIRST], &value));
    MUST(MPI_Comm_free(&comm));
    expect_counts("MPI_Comm_free", deleted, 1, 1, 1);
  }
  forget_counts();
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_set_attr(comm, keys[FIRST], &value));
  MUST(MPI_Comm_set_attr(comm, keys[SECOND], &value));
  MUST(MPI_Comm_dup(comm, &copy));
  expect_counts("copied", copied, 1, 0, 1);
  expect_counts("deleted meanwhile", deleted, 0, 1, 0);
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free(&comm));
  expect_counts("deleted in all", deleted, 2, 1,
                4); /* the two values set late, and the two set by the callback of the first key */
  for (int i = 0; i < KEYS; ++i) MUST(MPI_Comm_free_keyval(&keys[i]));
}

static int count_type(MPI_Datatype type, int key, void* v, void* extra) {
  (void)type, (void)v, (void)extra;
  ++deleted[index_of(key)];
  return MPI_SUCCESS;
}
static int change_type(MPI_Datatype type, int key, void* v, void* extra) {
  int flag = 0;
  void* seen;
  (void)extra;
  ++deleted[index_of(key)];
  MUST(MPI_Type_get_attr(type, keys[SECOND], &seen, &flag));
  if (flag) MUST(MPI_Type_delete_attr(type, keys[SECOND]));
  MUST(MPI_Type_set_attr(type, keys[LATE], v));
  return MPI_SUCCESS;
}

static void datatypes(void) {
  MPI_Datatype type;
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, change_type, &keys[FIRST], NULL));
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_type, &keys[SECOND], NULL));
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_type, &keys[LATE], NULL));
  forget_counts();
  MUST(MPI_Type_contiguous(2, MPI_INT, &type));
  MUST(MPI_Type_set_attr(type, keys[SECOND], &value));
  MUST(MPI_Type_set_attr(type, keys[FIRST], &value));
  MUST(MPI_Type_free(&type));
  expect_counts("MPI_Type_free", deleted, 1, 1, 1);
  for (int i = 0; i < KEYS; ++i) MUST(MPI_Type_free_keyval(&keys[i]));
}

int main(void) {
  open_world("test.attribute_changes");
  communicators();
  datatypes();
  return close_world();
}
