/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the communicator of a session for Fortran programs: session functions have no Fortran
 * interface over some MPIs. */
#include "../session_world.h"

/* With the program argument "beside_world", call MPI_Init first. */
void open_world_(MPI_Fint* comm, const MPI_Fint* is_beside_world);
void close_world_(const MPI_Fint* failed_checks);
void comm_value_seen_by_c_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* value);
void set_comm_value_in_c_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* address);
void fill_status_(MPI_Fint* status, const MPI_Fint* number);

static int is_in_world_model;

void open_world_(MPI_Fint* comm, const MPI_Fint* is_beside_world) {
  is_in_world_model = *is_beside_world;
  if (is_in_world_model) MUST(MPI_Init(NULL, NULL));
  open_world("test.fortran");
  *comm = MPI_Comm_c2f(world);
}

void close_world_(const MPI_Fint* failed_checks) {
  failures += *failed_checks;
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  if (is_in_world_model) MUST(MPI_Finalize());
  const int status = verdict();
  if (status != 0) exit(status);
}

/* Return the attribute in C: the address of a value that Fortran has set. */
void comm_value_seen_by_c_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* value) {
  MPI_Aint* found = NULL;
  int flag = 0;
  MUST(MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *keyval, &found, &flag));
  EXPECT(flag && found != NULL, "C finds no attribute");
  if (flag && found != NULL) *value = *found;
}

void set_comm_value_in_c_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* address) {
  static int value;
  MUST(MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *keyval, &value));
  *address = (MPI_Aint)&value;
}

/* Fill a status, as a query procedure does. */
void fill_status_(MPI_Fint* status, const MPI_Fint* number) {
  MPI_Status made;
  memset(&made, 0, sizeof made);
  made.MPI_SOURCE = MPI_UNDEFINED;
  made.MPI_TAG = *number;
  MUST(MPI_Status_set_cancelled(&made, 0));
  MUST(MPI_Status_set_elements(&made, MPI_BYTE, *number));
  MUST(MPI_Status_c2f(&made, status));
}
