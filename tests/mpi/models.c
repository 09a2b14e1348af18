/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions before, beside and after the world model, without it, overlapping, and from several threads (MPI-4.1 §11.3). */
#include <pthread.h>

#include "launchers_number.h"
#include "session_world.h"

/* A communicator over the world pset of a session; collective over all processes that give the same tag. */
static MPI_Comm world_of(MPI_Session from, const char *tag) {
  MPI_Group group;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(from, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Group_free(&group));
  return comm;
}

/* Traffic both ways: a sum over all, and a message round the ring. */
static void use(MPI_Comm comm, int salt) {
  int me, all, sum = 0, got = -1;
  MUST(MPI_Comm_rank(comm, &me));
  MUST(MPI_Comm_size(comm, &all));
  int value = me + salt;
  MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == all * (all - 1) / 2 + all * salt, "sum %d of %d processes, salt %d", sum, all, salt);
  MUST(MPI_Sendrecv(&value, 1, MPI_INT, (me + 1) % all, salt, &got, 1, MPI_INT, (me + all - 1) % all, salt, comm,
                    MPI_STATUS_IGNORE));
  EXPECT(got == (me + all - 1) % all + salt, "got %d", got);
}

static MPI_Session open_session(void) {
  MPI_Session opened;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &opened));
  EXPECT(opened != MPI_SESSION_NULL, "a null session");
  return opened;
}

static void whole_session(const char *tag, int salt) {
  MPI_Session own = open_session();
  MPI_Comm comm = world_of(own, tag);
  use(comm, salt);
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&own));
  EXPECT(own == MPI_SESSION_NULL, "finalize left the handle");
}

static void expect_state(int initialized, int finalized) {
  int is_initialized = -1, is_finalized = -1;
  MUST(MPI_Initialized(&is_initialized));
  MUST(MPI_Finalized(&is_finalized));
  EXPECT(!is_initialized == !initialized && !is_finalized == !finalized, "initialized %d finalized %d", is_initialized,
         is_finalized);
}

static void world_model(int salt) {
  MUST(MPI_Init(NULL, NULL));
  expect_state(1, 0);
  use(MPI_COMM_WORLD, salt);
  MUST(MPI_Finalize());
  expect_state(1, 1);
}

/* The program refers to sessions and begins none. */
static void world_alone(void) {
  world_model(1);
}

/* The states of the world model are no affair of sessions (MPI-4.1 §11.4.1). */
static void never(void) {
  expect_state(0, 0);
  whole_session("test.models.never", 1);
  expect_state(0, 0);
}

static void before(void) {
  whole_session("test.models.before", 1);
  world_model(2);
}

static void after(void) {
  world_model(1);
  whole_session("test.models.after", 2);
  expect_state(1, 1);
}

static void beside(void) {
  MUST(MPI_Init(NULL, NULL));
  for (int round = 0; round < 3; ++round) {
    whole_session("test.models.beside", round);
    use(MPI_COMM_WORLD, round + 10);
  }
  MUST(MPI_Finalize());
}

/* One session and its communicator live through all of the world model. */
static void across(void) {
  MPI_Session own = open_session();
  MPI_Comm comm = world_of(own, "test.models.across");
  use(comm, 1);
  MUST(MPI_Init(NULL, NULL));
  use(comm, 2);
  use(MPI_COMM_WORLD, 3);
  use(comm, 4);
  MUST(MPI_Finalize());
  use(comm, 5);
  MPI_Comm second = world_of(own, "test.models.across");
  use(second, 6);
  MUST(MPI_Comm_free(&second));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&own));
}

/* Opened under the world model, used and closed after it. */
static void outlive(void) {
  MUST(MPI_Init(NULL, NULL));
  MPI_Session own = open_session();
  MPI_Comm comm = world_of(own, "test.models.outlive");
  use(comm, 1);
  MUST(MPI_Finalize());
  use(comm, 2);
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&own));
}

/* The first session ends while the second one is in use. */
static void overlap(void) {
  MPI_Session first = open_session(), second = open_session();
  MPI_Comm of_first = world_of(first, "test.models.first"), of_second = world_of(second, "test.models.second");
  use(of_first, 1);
  use(of_second, 2);
  MUST(MPI_Comm_free(&of_first));
  MUST(MPI_Session_finalize(&first));
  use(of_second, 3);
  first = open_session();
  of_first = world_of(first, "test.models.first");
  MUST(MPI_Comm_free(&of_second));
  MUST(MPI_Session_finalize(&second));
  use(of_first, 4);
  MUST(MPI_Comm_free(&of_first));
  MUST(MPI_Session_finalize(&first));
}

enum { kThreads = 4, kRounds = 5 };

static void *in_thread(void *number) {
  char tag[64];
  for (int round = 0; round < kRounds; ++round) {
    snprintf(tag, sizeof tag, "test.models.thread.%d", *(int *)number);
    whole_session(tag, 10 * *(int *)number + round);
  }
  return NULL;
}

/* Each thread its own sessions, at once: the first ones made and the last ones gone race with each other. */
static void threads(void) {
  pthread_t running[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    EXPECT(pthread_create(&running[i], NULL, in_thread, &numbers[i]) == 0, "no thread");
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(running[i], NULL);
}

/* The same under MPI_Init_thread, with the world model in use by the main thread. */
static void threads_beside(void) {
  int provided;
  MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  pthread_t other;
  int number = 1;
  EXPECT(pthread_create(&other, NULL, in_thread, &number) == 0, "no thread");
  for (int round = 0; round < 20; ++round) use(MPI_COMM_WORLD, round);
  pthread_join(other, NULL);
  MUST(MPI_Finalize());
}

/* Odd processes begin with a session, the others with the world model: no process's choice is another one's affair. */
static void either_first(void) {
  const int session_first = launchers_rank() % 2;
  MPI_Session own = session_first ? open_session() : MPI_SESSION_NULL;
  MUST(MPI_Init(NULL, NULL));
  if (!session_first) own = open_session();
  MPI_Comm comm = world_of(own, "test.models.either");
  use(comm, 1);
  use(MPI_COMM_WORLD, 2);
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&own));
  MUST(MPI_Finalize());
}

static void *sessions_on_the_side(void *unused) {
  for (int round = 0; round < 10; ++round) whole_session("test.models.side", round);
  return unused;
}

/* The world model comes, works and goes while another thread makes its first session and more. */
static void while_starting(void) {
  int provided;
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, sessions_on_the_side, NULL) == 0, "no thread");
  MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  for (int round = 0; round < 20; ++round) use(MPI_COMM_WORLD, round);
  MUST(MPI_Finalize());
  pthread_join(other, NULL);
}

/* Odd processes come to MPI_Init only after a session has met the others, which wait for them in MPI_Init on another thread. */
static void crossing(void) {
  int provided;
  pthread_t other;
  const int is_odd = launchers_rank() % 2;
  if (is_odd) sessions_on_the_side(NULL);
  else EXPECT(pthread_create(&other, NULL, sessions_on_the_side, NULL) == 0, "no thread");
  MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  use(MPI_COMM_WORLD, 1);
  if (!is_odd) pthread_join(other, NULL);
  MUST(MPI_Finalize());
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {{"world_alone", world_alone},
                   {"never", never},
                   {"before", before},
                   {"after", after},
                   {"beside", beside},
                   {"across", across},
                   {"outlive", outlive},
                   {"overlap", overlap},
                   {"threads", threads},
                   {"threads_beside", threads_beside},
                   {"while_starting", while_starting},
                   {"crossing", crossing},
                   {"either_first", either_first}};
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) {
      scenarios[s].run();
      return verdict();
    }
  fprintf(stderr, "usage: models SCENARIO\n");
  return 2;
}
