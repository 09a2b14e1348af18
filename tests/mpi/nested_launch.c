/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a program that removes the launcher's variables, as a program that starts its own job must:
 * its rank in its own job does not change. */
#include <unistd.h>

#include "session_world.h"

extern char** environ;

static int is_of_a_launcher(const char* variable) {
  static const char* const beginnings[] = {"OMPI_", "PMIX_", "PMI_",  "HYDRA", "HYDI_",
                                           "MPIR_", "OPAL_", "ORTE_", "PRTE_"};
  for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; ++i)
    if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) return 1;
  return 0;
}

static void remove_variables_of_launcher(void) {
  char name[256];
  for (char** variable = environ; *variable != NULL;) {
    const size_t length = strcspn(*variable, "=");
    if (!is_of_a_launcher(*variable) || length >= sizeof name) {
      ++variable;
      continue;
    }
    memcpy(name, *variable, length);
    name[length] = 0;
    unsetenv(name);
    variable = environ;
  }
}

/* Open another session: mpi://WORLD is unchanged. */
static void expect_world(const char* tag, int former_rank, int former_size) {
  MPI_Session own;
  MPI_Group group;
  MPI_Comm comm;
  int now;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  MUST(MPI_Group_from_session_pset(own, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Comm_size(comm, &now));
  EXPECT(now == former_size, "mpi://WORLD had %d processes and has %d", former_size, now);
  MUST(MPI_Comm_rank(comm, &now));
  EXPECT(now == former_rank, "rank %d changed to %d", former_rank, now);
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&own));
}

/* nested_launch SCENARIO: state when the variables are removed: a session is open (open), a session
 * has ended (between), or only the world model was used (world). */
int main(int argc, char** argv) {
  const char* scenario = argc > 1 ? argv[1] : "open";
  if (strcmp(scenario, "world") == 0) {
    MUST(MPI_Init(NULL, NULL));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &size));
    remove_variables_of_launcher();
    expect_world("test.nested.world", rank, size);
    MUST(MPI_Finalize());
    expect_world("test.nested.after", rank, size);
    return verdict();
  }
  open_world("test.nested.first");
  if (strcmp(scenario, "open") == 0) remove_variables_of_launcher();
  if (strcmp(scenario, "open") == 0) expect_world("test.nested.beside", rank, size);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  remove_variables_of_launcher();
  expect_world("test.nested.second", rank, size);
  expect_world("test.nested.third", rank, size);
  return verdict();
}
