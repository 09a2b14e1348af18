/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of threads.h, each thread with a session of its own. */
#include "threads.h"

static MPI_Session sessions[most_threads];

static void expect_multiple(MPI_Session session) {
  MPI_Info used;
  char level[64] = "";
  int is_there;
  MPI_Session_get_info(session, &used);
  MPI_Info_get(used, "thread_level", sizeof level - 1, level, &is_there);
  MPI_Info_free(&used);
  if (is_there && strcmp(level, "MPI_THREAD_MULTIPLE") == 0) return;
  fprintf(stderr, "a session that is to have MPI_THREAD_MULTIPLE has %s\n", is_there ? level : "no thread_level");
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

static MPI_Comm open_lane(int thread) {
  char tag[64];
  MPI_Group group;
  MPI_Comm comm;
  sessions[thread] = new_session();
  snprintf(tag, sizeof tag, "intersession.bench.thread.%d", thread);
  MPI_Group_from_session_pset(sessions[thread], "mpi://WORLD", &group);
  if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) != MPI_SUCCESS) exit(1);
  MPI_Group_free(&group);
  return comm;
}

static void close_lane(int thread, MPI_Comm comm) {
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&sessions[thread]);
}

int main(int argc, char **argv) {
  static const Lanes lanes = {open_lane, close_lane};
  /* One that is there between the rows, too: MPICH 4.0.2 ends in MPI_Session_init where there has been a session and is none. */
  MPI_Session whole = new_session();
  thread_rows(&lanes, argc, argv);
  MPI_Session_finalize(&whole);
  return 0;
}
