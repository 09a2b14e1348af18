/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests sessions before, during and after the world model, without it, overlapping it, and from
 * several threads (MPI-4.1 §11.3). */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>

#include "launchers_number.h"
#include "session_world.h"

/* Return a communicator over mpi://WORLD of a session; collective over all processes with the same
 * tag. */
static MPI_Comm world_of(MPI_Session from, const char* tag) {
  MPI_Group group;
  MPI_Comm comm;
  MUST(MPI_Group_from_session_pset(from, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Group_free(&group));
  return comm;
}

/* Check collective and point-to-point communication: a sum over all, and a message around the ring.
 */
static void use(MPI_Comm comm, int salt) {
  int me, all, sum = 0, got = -1;
  MUST(MPI_Comm_rank(comm, &me));
  MUST(MPI_Comm_size(comm, &all));
  int value = me + salt;
  MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == all * (all - 1) / 2 + all * salt, "sum %d of %d processes, salt %d", sum, all,
         salt);
  MUST(MPI_Sendrecv(&value, 1, MPI_INT, (me + 1) % all, salt, &got, 1, MPI_INT,
                    (me + all - 1) % all, salt, comm, MPI_STATUS_IGNORE));
  EXPECT(got == (me + all - 1) % all + salt, "got %d", got);
}

static MPI_Session open_session(void) {
  MPI_Session opened;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &opened));
  EXPECT(opened != MPI_SESSION_NULL, "a null session");
  return opened;
}

static void whole_session(const char* tag, int salt) {
  MPI_Session own = open_session();
  MPI_Comm comm = world_of(own, tag);
  use(comm, salt);
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Session_finalize(&own));
  EXPECT(own == MPI_SESSION_NULL, "the handle is not null after MPI_Session_finalize");
}

/* MPICH 3.4 answers MPI_Initialized with false after MPI_Finalize (MPI-4.1 §11.4.1: true). */
static int forgets_initialization(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MUST(MPI_Get_library_version(text, &length));
  return strstr(text, "MPICH Version:\t3.") != NULL;
}

static void expect_state(int initialized, int finalized) {
  int is_initialized = -1, is_finalized = -1;
  if (finalized && forgets_initialization()) initialized = 0;
  MUST(MPI_Initialized(&is_initialized));
  MUST(MPI_Finalized(&is_finalized));
  EXPECT(!is_initialized == !initialized && !is_finalized == !finalized,
         "initialized %d finalized %d", is_initialized, is_finalized);
}

static void world_model(int salt) {
  MUST(MPI_Init(NULL, NULL));
  expect_state(1, 0);
  use(MPI_COMM_WORLD, salt);
  MUST(MPI_Finalize());
  expect_state(1, 1);
}

/* The program is linked with session functions but creates no session. */
static void world_alone(void) { world_model(1); }

/* Sessions do not depend on the state of the world model (MPI-4.1 §11.4.1). */
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

/* A session and its communicator exist from before MPI_Init until after MPI_Finalize. */
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

/* A session is opened between MPI_Init and MPI_Finalize, used, and closed afterwards. */
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

/* The first session ends while the second one is used. */
static void overlap(void) {
  MPI_Session first = open_session(), second = open_session();
  MPI_Comm of_first = world_of(first, "test.models.first"),
           of_second = world_of(second, "test.models.second");
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

static void* in_thread(void* number) {
  char tag[64];
  for (int round = 0; round < kRounds; ++round) {
    snprintf(tag, sizeof tag, "test.models.thread.%d", *(int*)number);
    whole_session(tag, 10 * *(int*)number + round);
  }
  return NULL;
}

/* Each thread opens and closes its own sessions, so that the first session and the last one race.
 */
static void threads(void) {
  pthread_t running[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    EXPECT(pthread_create(&running[i], NULL, in_thread, &numbers[i]) == 0, "no thread");
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(running[i], NULL);
}

/* As threads(), while the main thread uses the world model after MPI_Init_thread. */
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

/* Odd ranks begin with a session, even ranks with the world model: each process is independent. */
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

static void* sessions_on_the_side(void* unused) {
  for (int round = 0; round < 10; ++round) whole_session("test.models.side", round);
  return unused;
}

/* The world model is initialised, used and finalized while another thread opens its first sessions.
 */
static void while_starting(void) {
  int provided;
  pthread_t other;
  EXPECT(pthread_create(&other, NULL, sessions_on_the_side, NULL) == 0, "no thread");
  MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  for (int round = 0; round < 20; ++round) use(MPI_COMM_WORLD, round);
  MUST(MPI_Finalize());
  pthread_join(other, NULL);
}

/* Odd ranks call MPI_Init only after a session communicator exists, while the others already wait
 * in MPI_Init on another thread. */
static void crossing(void) {
  int provided;
  pthread_t other;
  const int is_odd = launchers_rank() % 2;
  if (is_odd)
    sessions_on_the_side(NULL);
  else
    EXPECT(pthread_create(&other, NULL, sessions_on_the_side, NULL) == 0, "no thread");
  MUST(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  use(MPI_COMM_WORLD, 1);
  if (!is_odd) pthread_join(other, NULL);
  MUST(MPI_Finalize());
}

/* Return a function of the native MPI library. */
static void* native_function(const char* name) {
  static const char* const libraries[] = {"libmpich.so.12", "libmpi.so.40"};
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i) {
    void* library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) return dlsym(library, name);
  }
  return NULL;
}

/* The world model is initialised and finalized past Intersession, as by a plug-in that is loaded
 * with RTLD_DEEPBIND. In between, PMI_FD stays shared: it never refers to the launcher's socket. */
static void past(void) {
  int (*native_init)(int*, char***) = (int (*)(int*, char***))native_function("PMPI_Init");
  int (*native_finalize)(void) = (int (*)(void))native_function("PMPI_Finalize");
  const char* descriptor = getenv("PMI_FD");
  EXPECT(native_init && native_finalize, "no native MPI library");
  MUST(native_init(NULL, NULL));
  for (int round = 0; round < 3; ++round) {
    whole_session("test.models.past", round);
    if (descriptor != NULL)
      EXPECT(fcntl(atoi(descriptor), F_GETFD) == FD_CLOEXEC, "round %d: not shared", round);
  }
  MUST(native_finalize());
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
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
                   {"past", past},
                   {"either_first", either_first}};
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) {
      scenarios[s].run();
      return verdict();
    }
  fprintf(stderr, "usage: models SCENARIO\n");
  return 2;
}
