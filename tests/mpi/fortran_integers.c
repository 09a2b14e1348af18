/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the Fortran handles of predefined objects, and Fortran statuses (MPI-4.1 §19.3.4, §19.3.5),
 * before MPI_Init and after it. */
#include "session_world.h"

enum { kTypes = 40, kOps = 14 };
static MPI_Datatype types[kTypes];
static MPI_Op ops[kOps];
static MPI_Fint type_numbers[kTypes], op_numbers[kOps], other_numbers[6];
static int type_count, op_count;

static void list_objects(void) {
  const MPI_Datatype all_types[] = {MPI_CHAR,
                                    MPI_SIGNED_CHAR,
                                    MPI_UNSIGNED_CHAR,
                                    MPI_BYTE,
                                    MPI_PACKED,
                                    MPI_SHORT,
                                    MPI_UNSIGNED_SHORT,
                                    MPI_INT,
                                    MPI_UNSIGNED,
                                    MPI_LONG,
                                    MPI_UNSIGNED_LONG,
                                    MPI_LONG_LONG,
                                    MPI_UNSIGNED_LONG_LONG,
                                    MPI_FLOAT,
                                    MPI_DOUBLE,
                                    MPI_LONG_DOUBLE,
                                    MPI_WCHAR,
                                    MPI_INT8_T,
                                    MPI_UINT16_T,
                                    MPI_INT32_T,
                                    MPI_UINT64_T,
                                    MPI_AINT,
                                    MPI_OFFSET,
                                    MPI_COUNT,
                                    MPI_C_BOOL,
                                    MPI_C_DOUBLE_COMPLEX,
                                    MPI_FLOAT_INT,
                                    MPI_2INT};
  const MPI_Op all_ops[] = {MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD, MPI_LAND,
                            MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR, MPI_BXOR,
                            MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  type_count = sizeof all_types / sizeof all_types[0];
  op_count = sizeof all_ops / sizeof all_ops[0];
  memcpy(types, all_types, sizeof all_types);
  memcpy(ops, all_ops, sizeof all_ops);
}

static void ask_others(MPI_Fint* numbers) {
  numbers[0] = MPI_Comm_c2f(MPI_COMM_WORLD);
  numbers[1] = MPI_Comm_c2f(MPI_COMM_SELF);
  numbers[2] = MPI_Group_c2f(MPI_GROUP_EMPTY);
  numbers[3] = MPI_Errhandler_c2f(MPI_ERRORS_ARE_FATAL);
  numbers[4] = MPI_Errhandler_c2f(MPI_ERRORS_RETURN);
  numbers[5] = MPI_Message_c2f(MPI_MESSAGE_NO_PROC);
}

/* The Fortran handle of each object converts back to the object. */
static void round_trips(void) {
  for (int i = 0; i < type_count; ++i) {
    type_numbers[i] = MPI_Type_c2f(types[i]);
    EXPECT(MPI_Type_f2c(type_numbers[i]) == types[i], "datatype %d has the Fortran handle %d", i,
           type_numbers[i]);
  }
  for (int i = 0; i < op_count; ++i) {
    op_numbers[i] = MPI_Op_c2f(ops[i]);
    EXPECT(MPI_Op_f2c(op_numbers[i]) == ops[i], "operation %d has the Fortran handle %d", i,
           op_numbers[i]);
  }
  ask_others(other_numbers);
  EXPECT(MPI_Comm_f2c(other_numbers[0]) == MPI_COMM_WORLD, "MPI_COMM_WORLD: %d", other_numbers[0]);
  EXPECT(MPI_Comm_f2c(other_numbers[1]) == MPI_COMM_SELF, "MPI_COMM_SELF: %d", other_numbers[1]);
  EXPECT(MPI_Group_f2c(other_numbers[2]) == MPI_GROUP_EMPTY, "MPI_GROUP_EMPTY: %d",
         other_numbers[2]);
  EXPECT(MPI_Errhandler_f2c(other_numbers[3]) == MPI_ERRORS_ARE_FATAL, "MPI_ERRORS_ARE_FATAL: %d",
         other_numbers[3]);
  EXPECT(MPI_Errhandler_f2c(other_numbers[4]) == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN: %d",
         other_numbers[4]);
  EXPECT(MPI_Message_f2c(other_numbers[5]) == MPI_MESSAGE_NO_PROC, "MPI_MESSAGE_NO_PROC: %d",
         other_numbers[5]);
}

static void expect_received(const MPI_Status* status, const char* form) {
  int count = -1;
  MUST(MPI_Get_count(status, MPI_INT, &count));
  EXPECT(status->MPI_SOURCE == (rank + size - 1) % size && status->MPI_TAG == 7 && count == 1,
         "%s: source %d, tag %d, count %d", form, status->MPI_SOURCE, status->MPI_TAG, count);
}

static void statuses(void) {
  MPI_Fint numbers[sizeof(MPI_Status) / sizeof(MPI_Fint)];
  MPI_F08_status typed;
  MPI_Status status, back;
  int got = -1;
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT,
                    (rank + size - 1) % size, 7, world, &status));
  MUST(MPI_Status_c2f(&status, numbers));
  memset(&back, 0, sizeof back);
  MUST(MPI_Status_f2c(numbers, &back));
  expect_received(&back, "an array of integers");
  MUST(MPI_Status_c2f08(&status, &typed));
  EXPECT(typed.MPI_SOURCE == status.MPI_SOURCE && typed.MPI_TAG == 7, "tag %d", typed.MPI_TAG);
  memset(&back, 0, sizeof back);
  MUST(MPI_Status_f082c(&typed, &back));
  expect_received(&back, "a TYPE(MPI_Status)");
  memset(numbers, 0, sizeof numbers);
  MUST(MPI_Status_f082f(&typed, numbers));
  memset(&typed, 0, sizeof typed);
  MUST(MPI_Status_f2f08(numbers, &typed));
  MUST(MPI_Status_f082c(&typed, &back));
  expect_received(&back, "from one Fortran form to the other");
}

static void expect_same_as_under_the_world(void) {
  MPI_Fint now[6];
  for (int i = 0; i < type_count; ++i)
    EXPECT(MPI_Type_c2f(types[i]) == type_numbers[i], "datatype %d: %d, before MPI_Init %d", i,
           MPI_Type_c2f(types[i]), type_numbers[i]);
  for (int i = 0; i < op_count; ++i)
    EXPECT(MPI_Op_c2f(ops[i]) == op_numbers[i], "operation %d: %d, before MPI_Init %d", i,
           MPI_Op_c2f(ops[i]), op_numbers[i]);
  ask_others(now);
  for (int i = 0; i < 6; ++i)
    EXPECT(now[i] == other_numbers[i], "object %d: %d, before MPI_Init %d", i, now[i],
           other_numbers[i]);
}

int main(void) {
  list_objects();
  round_trips();
  open_world("test.fortran_integers");
  round_trips();
  statuses();
  MUST(MPI_Init(NULL, NULL));
  expect_same_as_under_the_world();
  statuses();
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  MUST(MPI_Finalize());
  return verdict();
}
