/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements MPI_Init and MPI_Finalize with sessions, for programs of the world model
 * (in_session.h). */
#define TESTS_FOREIGN_IN_SESSION_C
#include "in_session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Session session;
static MPI_Comm world, self;
/* If a program uses MPI_COMM_WORLD before MPI_Init, the session starts early. */
static enum { kBefore, kEarly, kDuring, kAfter } phase = kBefore;
static int level;
static pthread_t main_thread;

static const struct {
  int level;
  const char* name;
} kLevels[] = {{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
               {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
               {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
               {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}};
enum { kLevelCount = sizeof kLevels / sizeof kLevels[0] };

static void fail(const char* what) {
  fprintf(stderr, "in_session: %s\n", what);
  exit(1);
}

static MPI_Comm made_from(const char* pset) {
  MPI_Group group;
  MPI_Comm comm;
  if (MPI_Group_from_session_pset(session, pset, &group) != MPI_SUCCESS)
    fail("no such process set");
  if (MPI_Comm_create_from_group(group, "in_session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) !=
      MPI_SUCCESS) {
    fail("no communicator");
  }
  MPI_Group_free(&group);
  return comm;
}

static void start_session(int required) {
  MPI_Info info;
  if (MPI_Info_create(&info) != MPI_SUCCESS) fail("no info");
  for (int i = 0; i < kLevelCount; i++) {
    if (kLevels[i].level == required) MPI_Info_set(info, "thread_level", kLevels[i].name);
  }
  /* Programs that set MPI_ERRORS_RETURN on MPI_COMM_WORLD expect it for errors on groups, too,
   * which here go to the session's handler. */
  MPI_Errhandler handler = getenv("IN_SESSION_ERRORS_RETURN") ? MPI_ERRORS_RETURN
                                                              : MPI_ERRORS_ARE_FATAL;
  if (MPI_Session_init(info, handler, &session) != MPI_SUCCESS) fail("no session");
  MPI_Info_free(&info);
}

static int provided_level(void) {
  char value[MPI_MAX_INFO_VAL + 1];
  MPI_Info info;
  int flag, found = MPI_THREAD_SINGLE;
  MPI_Session_get_info(session, &info);
  MPI_Info_get(info, "thread_level", MPI_MAX_INFO_VAL, value, &flag);
  for (int i = 0; flag && i < kLevelCount; i++) {
    if (strcmp(kLevels[i].name, value) == 0) found = kLevels[i].level;
  }
  MPI_Info_free(&info);
  return found;
}

static void start(int required) {
  start_session(required);
  world = made_from("mpi://WORLD");
  self = made_from("mpi://SELF");
  /* MPI-4.1 §7.8: names of the two communicators in the world model. */
  MPI_Comm_set_name(world, "MPI_COMM_WORLD");
  MPI_Comm_set_name(self, "MPI_COMM_SELF");
  level = provided_level();
}

static void start_early(void) {
  if (phase != kBefore) return;
  start(MPI_THREAD_MULTIPLE);
  phase = kEarly;
}

MPI_Comm* in_session_world(void) {
  start_early();
  return &world;
}

MPI_Comm* in_session_self(void) {
  start_early();
  return &self;
}

int in_session_init_thread(int* argc, char*** argv, int required, int* provided) {
  (void)argc, (void)argv;
  if (phase == kDuring || phase == kAfter) fail("a second MPI_Init");
  if (phase == kBefore) start(required);
  main_thread = pthread_self();
  phase = kDuring;
  if (provided) *provided = level;
  return MPI_SUCCESS;
}

int in_session_init(int* argc, char*** argv) {
  return in_session_init_thread(argc, argv, MPI_THREAD_SINGLE, NULL);
}

int in_session_finalize(void) {
  int world_model;
  if (phase != kDuring) fail("MPI_Finalize outside");
  /* MPI-4.1 §11.2.4: attributes of MPI_COMM_SELF are deleted before all other actions. */
  MPI_Comm_free(&self);
  MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
  phase = kAfter;
  MPI_Initialized(&world_model);
  if (world_model) fail("MPI_Init has been called");
  return MPI_SUCCESS;
}

int in_session_initialized(int* flag) {
  *flag = phase == kDuring || phase == kAfter;
  return MPI_SUCCESS;
}

int in_session_finalized(int* flag) {
  *flag = phase == kAfter;
  return MPI_SUCCESS;
}

int in_session_query_thread(int* provided) {
  *provided = level;
  return MPI_SUCCESS;
}

int in_session_is_thread_main(int* flag) {
  *flag = pthread_equal(main_thread, pthread_self());
  return MPI_SUCCESS;
}
