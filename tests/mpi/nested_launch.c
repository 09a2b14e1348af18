/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that removes the launcher's variables, as one must that starts a job of its own,
 * keeps its place in its own job. */
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

/* A session of its own beside the others, or after them: the world pset is what it was. */
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
  EXPECT(now == former_rank, "rank %d has become %d", former_rank, now);
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Session_finalize(&own));
}

/* nested_launch SCENARIO: what has been when the variables are removed, a session that goes on
 * (open), one that has ended (between), or the world model alone (world). */
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
