/* SPDX-License-Identifier: BSD-3-Clause */
/* program_end SCENARIO: tests the end of a program: with open sessions, in exit handlers and
 * destructors, by exec and by MPI_Abort. */
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_world.h"

static int session_in_destructor;

static void use(void) {
  int sum = 0;
  MUST(MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * size, "sum %d", sum);
}

static void end_session(void) {
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
}

/* Runs after all exit handlers. */
__attribute__((destructor)) static void last(void) {
  if (!session_in_destructor) return;
  use();
  end_session();
  open_world("test.end.destructor");
  use();
  end_session();
  if (verdict() != 0) _exit(1);
  fflush(stdout);
}

/* A session is open in the destructors of the program, and another one is opened there. */
static int destructor(void) {
  open_world("test.end.main");
  session_in_destructor = 1;
  return 0;
}

/* No MPI_Session_finalize. */
static int open_session(void) {
  open_world("test.end.open");
  use();
  MUST(MPI_Barrier(world));
  return verdict();
}

static void* receive_for_ever(void* unused) {
  int got;
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 99, world, MPI_STATUS_IGNORE);
  return unused;
}

/* Other threads of the process remain inside MPI calls. */
static int open_in_threads(void) {
  pthread_t receiver;
  open_world("test.end.threads");
  EXPECT(pthread_create(&receiver, NULL, receive_for_ever, NULL) == 0, "no thread");
  use();
  MUST(MPI_Barrier(world));
  return verdict();
}

/* A child made by fork exits; its parent continues. */
static int forked(void) {
  open_world("test.end.forked");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) exit(0);
  int status = -1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0, "status %d", status);
  use();
  return close_world();
}

/* A library leaks a duplicate of a session communicator; the world model finalizes normally. */
static int leaked_beside_world(void) {
  MPI_Comm kept;
  MUST(MPI_Init(NULL, NULL));
  open_world("test.end.leaked");
  MUST(MPI_Comm_dup(world, &kept));
  end_session();
  MUST(MPI_Finalize());
  return verdict();
}

static int open_beside_world(void) {
  MUST(MPI_Init(NULL, NULL));
  open_world("test.end.open_beside_world");
  use();
  MUST(MPI_Finalize());
  return verdict();
}

static int leaked(void) {
  MPI_Comm kept;
  open_world("test.end.leaked");
  MUST(MPI_Comm_dup(world, &kept));
  end_session();
  return verdict();
}

static const char* own_path;

/* The process calls exec after it has ended its sessions. */
static int exec_again(void) {
  open_world("test.end.exec");
  end_session();
  fflush(stdout);
  execl(own_path, own_path, "after_exec", (char*)NULL);
  EXPECT(0, "no exec");
  return verdict();
}
/* The process has ended its sessions, and starts a program that uses sessions in its place. */
static int child_again(void) {
  extern char** environ;
  char* arguments[] = {(char*)own_path, "after_exec", NULL};
  pid_t child;
  int status = -1;
  open_world("test.end.child");
  end_session();
  fflush(stdout);
  EXPECT(posix_spawn(&child, own_path, NULL, NULL, arguments, environ) == 0, "no child");
  EXPECT(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
  return failures != 0;
}
/* The process calls exec with an open session, and thus with the launcher connection that it shares
 * with the native library. */
static int exec_open(void) {
  open_world("test.end.exec_open");
  MUST(MPI_Barrier(world));
  execl(own_path, own_path, "after_exec", (char*)NULL);
  EXPECT(0, "no exec");
  return verdict();
}
static int after_exec(void) {
  open_world("test.end.after_exec");
  use();
  return close_world();
}

static void* read_for_ever(void* unused) {
  (void)getchar(); /* holds the lock of stdin; the launcher gives the first process an input without
                      end */
  return unused;
}

/* MPI_Abort flushes the streams of the program. */
static int abort_flushes(void) {
  pthread_t reader;
  FILE* second = fdopen(dup(STDOUT_FILENO), "w");
  open_world("test.end.abort");
  EXPECT(second != NULL && pthread_create(&reader, NULL, read_for_ever, NULL) == 0,
         "no stream or thread");
  setvbuf(second, NULL, _IOFBF, 4096);
  MUST(MPI_Barrier(world));
  if (rank == 0) {
    fprintf(second, "kept in the second stream\n");
    printf("kept in standard output\n");
    MPI_Abort(world, 7);
  }
  MPI_Barrier(world); /* the launcher ends this process, at the latest after the call */
  for (;;) pause();
}

int main(int argc, char** argv) {
  static char buffer[4096];
  static const struct {
    const char* name;
    int (*run)(void);
  } scenarios[] = {{"destructor", destructor},
                   {"open_session", open_session},
                   {"open_in_threads", open_in_threads},
                   {"forked", forked},
                   {"leaked", leaked},
                   {"leaked_beside_world", leaked_beside_world},
                   {"open_beside_world", open_beside_world},
                   {"exec_again", exec_again},
                   {"child_again", child_again},
                   {"exec_open", exec_open},
                   {"after_exec", after_exec},
                   {"abort_flushes", abort_flushes}};
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  own_path = argv[0];
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) return scenarios[s].run();
  fprintf(stderr, "usage: program_end SCENARIO\n");
  return 2;
}
