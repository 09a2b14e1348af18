/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of threads.h, with a session per thread. */
#include "bench/compare/threads.h"

/* By thread: of the world, and of the process alone. */
static MPI_Session sessions[most_threads], inner_sessions[most_threads];

static void expect_multiple(MPI_Session session) {
  MPI_Info used;
  char level[64] = "";
  int is_there;
  MPI_Session_get_info(session, &used);
  MPI_Info_get(used, "thread_level", sizeof level - 1, level, &is_there);
  MPI_Info_free(&used);
  if (is_there && strcmp(level, "MPI_THREAD_MULTIPLE") == 0) return;
  fprintf(stderr, "a session that is to have MPI_THREAD_MULTIPLE has %s\n",
          is_there ? level : "no thread_level");
  exit(1);
}

static MPI_Session new_session(void) {
  MPI_Session session;
  MPI_Info wanted;
  MPI_Info_create(&wanted);
  MPI_Info_set(wanted, "thread_level", "MPI_THREAD_MULTIPLE");
  if (MPI_Session_init(wanted, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) exit(1);
  MPI_Info_free(&wanted);
  expect_multiple(session);
  return session;
}

static MPI_Comm communicator_of(MPI_Session session, const char* pset, int thread) {
  char tag[64];
  MPI_Group group;
  MPI_Comm comm;
  snprintf(tag, sizeof tag, "intersession.bench.thread.%d", thread);
  MPI_Group_from_session_pset(session, pset, &group);
  if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) !=
      MPI_SUCCESS)
    exit(1);
  MPI_Group_free(&group);
  return comm;
}

static int processes_of(MPI_Session session) {
  MPI_Group group;
  int processes;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_size(group, &processes);
  MPI_Group_free(&group);
  return processes;
}

static MPI_Comm open_comm(int thread) {
  sessions[thread] = new_session();
  return communicator_of(sessions[thread], "mpi://WORLD", thread);
}

static MPI_Comm open_inner(int thread) {
  inner_sessions[thread] = new_session();
  return communicator_of(inner_sessions[thread], "mpi://SELF", thread);
}

static void close_inner(int thread, MPI_Comm comm) {
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&inner_sessions[thread]);
}

static void close_comm(int thread, MPI_Comm comm) {
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&sessions[thread]);
}

int main(int argc, char** argv) {
  static const CommFactory between = {open_comm, close_comm}, within = {open_inner, close_inner};
  /* Keep one session between the rows: MPICH 4.0.2 aborts in MPI_Session_init if all earlier
   * sessions are finalized. */
  MPI_Session whole = new_session();
  thread_rows(&between, &within, processes_of(whole), argc, argv);
  MPI_Session_finalize(&whole);
  return 0;
}
