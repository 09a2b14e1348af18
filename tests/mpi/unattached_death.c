/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a process that never attaches to the memory of its node, because it dies before, or that is
 * late.
 *
 *   unattached_death before   rank 1 dies before MPI_Session_init: all others get an error that
 *                             names it, and continue
 *   unattached_death init     rank 1 dies after MPI_Session_init has returned
 *   unattached_death leader   rank 0, which leads the creation, dies before MPI_Session_init
 *   unattached_death stopped  rank 1 is stopped before MPI_Session_init for longer than the
 *                             detection of a death takes: the others wait for it */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_world.h"

enum { MOST_SECONDS = 10 }; /* about 1 s on an idle machine */

/* Return the rank from the environment: there is no session yet. */
static int own_rank(void) {
  const char* names[] = {"PMIX_RANK", "PMI_RANK", "PMI_ID"};
  for (int i = 0; i < 3; ++i)
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  return -1;
}

/* Stop this process. A child without the launcher's variables, so that it is not taken for this
 * process, continues it. */
static void be_stopped(void) {
  char command[64];
  char* const nothing[] = {NULL};
  snprintf(command, sizeof command, "sleep 4; kill -CONT %d", (int)getpid());
  const pid_t helper = fork();
  if (helper == 0) {
    execle("/bin/sh", "sh", "-c", command, (char*)NULL, nothing);
    _exit(1);
  }
  raise(SIGSTOP);
  waitpid(helper, NULL, 0);
}

static void create_without(int victim) {
  MPI_Group all, living;
  MPI_Comm with_dead, made;
  char text[MPI_MAX_ERROR_STRING], name[16];
  int class = MPI_SUCCESS, length, members;
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  const double begun = MPI_Wtime();
  const int code = MPI_Comm_create_from_group(all, "test.with_dead", MPI_INFO_NULL,
                                              MPI_ERRORS_RETURN, &with_dead);
  const double seconds = MPI_Wtime() - begun;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("error text after %.2f s: %s\n", seconds, text);
  snprintf(name, sizeof name, "process %d ", victim);
  EXPECT(class == MPI_ERR_PROC_ABORTED && strstr(text, name) != NULL, "class %d: %s", class, text);
  EXPECT(seconds < MOST_SECONDS, "%.2f s", seconds);
  MUST(MPI_Group_excl(all, 1, &victim, &living));
  MUST(MPI_Comm_create_from_group(living, "test.living", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  MUST(MPI_Allreduce(&(int){1}, &members, 1, MPI_INT, MPI_SUM, made));
  MUST(MPI_Comm_size(made, &size));
  EXPECT(members == size, "%d of %d", members, size);
  MUST(MPI_Comm_free(&made));
  MUST(MPI_Group_free(&living));
  MUST(MPI_Group_free(&all));
  MUST(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* scenario = argv[1];
  const int victim = strcmp(scenario, "leader") == 0 ? 0 : 1;
  rank = own_rank();
  if (strcmp(scenario, "stopped") == 0) {
    if (rank == victim) be_stopped();
    open_world("test.stopped");
    return close_world();
  }
  if (rank == victim && strcmp(scenario, "init") != 0) raise(SIGKILL);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  if (rank == victim) raise(SIGKILL);
  create_without(victim);
  return verdict();
}
