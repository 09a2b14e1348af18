/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests correct local calls without MPI_Init, with handles that are null or predefined, or with
 * arrays of length 0. With the argument "world" the world model is initialised, and the native
 * library serves all but MPI_Parrived, which it lacks. */
#include "session_world.h"

static void requests(int with_world) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = -1, index = -1, count = -1;
  MUST(MPI_Startall(0, with_world ? &request : NULL)); /* Open MPI 4.1 needs an array */
  MUST(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  MUST(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
  EXPECT(flag, "MPI_Testall of none");
  MUST(MPI_Waitany(0, NULL, &index, &status));
  EXPECT(index == MPI_UNDEFINED, "index %d", index);
  MUST(MPI_Testany(0, NULL, &index, &flag, &status));
  EXPECT(index == MPI_UNDEFINED && flag, "index %d flag %d", index, flag);
  MUST(MPI_Waitsome(0, NULL, &count, &index, MPI_STATUSES_IGNORE));
  EXPECT(count == MPI_UNDEFINED, "count %d", count);
  MUST(MPI_Testsome(0, NULL, &count, &index, MPI_STATUSES_IGNORE));
  EXPECT(count == MPI_UNDEFINED, "count %d", count);
  MUST(MPI_Wait(&request, &status));
  MUST(MPI_Request_get_status(request, &flag, &status));
  EXPECT(flag, "MPI_Request_get_status of a null request");
  flag = 0;
  MUST(MPI_Parrived(request, 0, &flag));
  EXPECT(flag, "MPI_Parrived of a null request");
  if (!with_world) MUST_FAIL(MPI_ERR_REQUEST, MPI_Startall(1, &request));
}

static void groups(void) {
  MPI_Group group;
  int number = -1, nobody = MPI_PROC_NULL;
  MUST(MPI_Group_size(MPI_GROUP_EMPTY, &number));
  EXPECT(number == 0, "size %d", number);
  MUST(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &group));
  MUST(MPI_Group_compare(group, MPI_GROUP_EMPTY, &number));
  EXPECT(number == MPI_IDENT, "comparison %d", number);
  MUST(MPI_Group_incl(MPI_GROUP_EMPTY, 0, NULL, &group));
  MUST(MPI_Group_excl(MPI_GROUP_EMPTY, 0, NULL, &group));
  MUST(MPI_Group_range_incl(MPI_GROUP_EMPTY, 0, NULL, &group));
  MUST(MPI_Group_range_excl(MPI_GROUP_EMPTY, 0, NULL, &group));
  MUST(MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 0, NULL, MPI_GROUP_EMPTY, NULL));
  MUST(MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 1, &nobody, MPI_GROUP_EMPTY, &number));
  EXPECT(number == MPI_PROC_NULL, "rank %d", number);
}

static void datatypes(void) {
  MPI_Datatype type;
  int from[2] = {1, 2}, to[2] = {3, 4}, flag = 0, bytes = -1;
  MUST(MPI_Op_commutative(MPI_SUM, &flag));
  EXPECT(flag, "MPI_SUM does not commute");
  MUST(MPI_Reduce_local(from, to, 2, MPI_INT, MPI_SUM));
  EXPECT(to[1] == 6, "sum %d", to[1]);
  MUST(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
  MUST(MPI_Type_size(type, &bytes));
  EXPECT(bytes == 0, "size %d", bytes);
  MUST(MPI_Type_free(&type));
  MUST(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &type));
  MUST(MPI_Type_free(&type));
  MUST(MPI_Type_create_hindexed_block(0, 1, NULL, MPI_INT, &type));
  MUST(MPI_Type_free(&type));
}

static void messages_and_communicators(void) {
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  MPI_Status status;
  MPI_Comm comm = world;
  MUST(MPI_Mrecv(NULL, 0, MPI_INT, &message, &status));
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL, "source %d", status.MPI_SOURCE);
  MUST(
      MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "null", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  EXPECT(comm == MPI_COMM_NULL, "a communicator of an empty group");
}

/* MPI-4.1 §7.8 */
static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MUST(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  EXPECT(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13, "named %s", name);
  MUST(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  EXPECT(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == 17, "named %s", name);
}

int main(int argc, char** argv) {
  const int with_world = argc > 1 && strcmp(argv[1], "world") == 0;
  if (with_world) {
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  }
  open_world("test.null_handles");
  requests(with_world);
  if (!with_world) {
    groups();
    datatypes();
    messages_and_communicators();
    names();
  }
  if (with_world) MUST(MPI_Finalize());
  return close_world();
}
