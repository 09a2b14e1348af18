/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests local calls on MPI_COMM_WORLD and MPI_COMM_SELF while a session is open, before MPI_Init.
 */
#include "session_world.h"

static int deletions;

static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key;
  (void)extra;
  EXPECT(comm == MPI_COMM_SELF && value == &deletions, "another communicator or value");
  ++deletions;
  return MPI_SUCCESS;
}

static void check_local(void) {
  int known_rank = -1, known_size = -1, length, flag = 0, result, *value = NULL;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Group group, of_set;
  MPI_Comm parent = MPI_COMM_WORLD;
  MUST(MPI_Comm_rank(MPI_COMM_WORLD, &known_rank));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &known_size));
  EXPECT(known_rank == rank && known_size == size, "%d of %d", known_rank, known_size);
  MUST(MPI_Comm_rank(MPI_COMM_SELF, &known_rank));
  MUST(MPI_Comm_size(MPI_COMM_SELF, &known_size));
  EXPECT(known_rank == 0 && known_size == 1, "%d of %d", known_rank, known_size);
  MUST(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  EXPECT(strcmp(name, "MPI_COMM_WORLD") == 0, "%s", name);
  MUST(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  EXPECT(strcmp(name, "MPI_COMM_SELF") == 0, "%s", name);
  MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  EXPECT(flag && *value >= 32767, "MPI_TAG_UB");
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &of_set));
  MUST(MPI_Group_compare(group, of_set, &result));
  EXPECT(result == MPI_IDENT, "%d", result);
  MUST(MPI_Group_free(&group));
  MUST(MPI_Group_free(&of_set));
  MUST(MPI_Comm_get_parent(&parent));
  EXPECT(parent == MPI_COMM_NULL, "a parent");
}

static void check_attributes(int key) {
  int flag = -1;
  void* value = NULL;
  MUST(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
  EXPECT(flag == 0, "an attribute that was not set");
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &deletions));
  MUST(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
  EXPECT(flag && value == &deletions, "the attribute");
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_set_attr(MPI_COMM_WORLD, key, &deletions));
}

int main(int argc, char** argv) {
  int key, flag = -1;
  void* value = NULL;
  open_world("test.predefined_before_init");
  MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
  check_local();
  check_attributes(key);
  MUST(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
  EXPECT(deletions == 1, "%d", deletions);
  MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &deletions));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Barrier(MPI_COMM_WORLD));
  MUST(MPI_Initialized(&flag));
  EXPECT(flag == 0, "MPI_Initialized without MPI_Init");
  if (argc > 1 && strcmp(argv[1], "world") == 0) {
    MUST(MPI_Init(&argc, &argv));
    EXPECT(deletions == 2, "%d at MPI_Init", deletions);
    MUST(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    EXPECT(flag == 0, "an attribute of before MPI_Init");
    MUST(MPI_Finalize());
    MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_size(MPI_COMM_WORLD, &flag));
  }
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  EXPECT(deletions == 2, "%d at the end", deletions);
  MUST(MPI_Comm_free_keyval(&key));
  return verdict();
}
