/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the creation of communicators from groups: members, other processes, and the errors if
 * members disagree or are missing.
 *
 *   creation SCENARIO */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "launchers_number.h"
#include "session_world.h"

static MPI_Group world_group;

static void begin_with(MPI_Info info) {
  MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &world_group));
  MUST(MPI_Group_rank(world_group, &rank));
  MUST(MPI_Group_size(world_group, &size));
}

static void begin(void) { begin_with(MPI_INFO_NULL); }

static void begin_with_level(const char* level) {
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "thread_level", level));
  begin_with(info);
  MUST(MPI_Info_free(&info));
}

static void end(void) {
  MUST(MPI_Group_free(&world_group));
  MUST(MPI_Session_finalize(&session));
}

static MPI_Group group_of(int first, int last, int stride) {
  MPI_Group group;
  int range[1][3] = {{first, last, stride}};
  MUST(MPI_Group_range_incl(world_group, 1, range, &group));
  return group;
}

static int create(MPI_Group group, const char* tag, MPI_Comm* comm) {
  return MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
}

static void use_and_free(MPI_Comm comm) {
  int n, one = 1, sum = 0;
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == n, "sum %d of %d", sum, n);
  MUST(MPI_Comm_free(&comm));
}

/* Print the error text of the failed call, for the patterns of the job table. */
static void print_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  printf("rank %d: error text: %s\n", rank, text);
}

static void expect_class(int code, int expected) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  EXPECT(class == expected, "class %d, not %d", class, expected);
  print_error_text(code);
}

/* Even ranks create a communicator. Some odd ranks sleep with an open session, others have ended
 * theirs and exited. (With mpirun, a process that has never contacted the launcher must not exit
 * before the others: mpirun takes that for a crash and ends the job.) */
static void subset(void) {
  begin();
  if (rank % 2 == 1) {
    if (rank % 4 == 1) sleep(1);
    end();
    return;
  }
  MPI_Group evens = group_of(0, size - 1, 2);
  for (int i = 0; i < 5; ++i) {
    MPI_Comm comm;
    MUST(create(evens, "test.creation.subset", &comm));
    use_and_free(comm);
  }
  MUST(MPI_Group_free(&evens));
  end();
}

/* True if the launcher has waited for the process with this world rank, which has written its pid
 * to a file. */
static int has_gone(int who) {
  char path[4096];
  int pid = 0;
  snprintf(path, sizeof path, "%s/non_member.%d", getenv("TMPDIR"), who);
  FILE* note = fopen(path, "r");
  int is_complete = note && fscanf(note, "%d\n", &pid) == 1 && fgetc(note) == EOF;
  if (note) fclose(note);
  return is_complete && kill(pid, 0) != 0;
}

/* Even ranks create a communicator; odd ranks exited long before, without a call of MPI. (Open
 * MPI's mpirun ends the job if such a process exits after others have contacted mpirun, but not
 * before.) */
static void non_members(void) {
  int me = launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
      all = launchers_number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  if (me % 2 == 1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/non_member.%d", getenv("TMPDIR"), me);
    FILE* note = fopen(path, "w");
    if (!note || fprintf(note, "%d\n", (int)getpid()) < 0 || fclose(note) != 0) exit(1);
    exit(0);
  }
  for (int who = 1; who < all; who += 2)
    for (int tries = 0; !has_gone(who); ++tries) {
      EXPECT(tries < 10000, "process %d is still running", who);
      usleep(1000);
    }
  begin();
  MPI_Group evens = group_of(0, size - 1, 2);
  MPI_Comm comm;
  MUST(create(evens, "test.creation.non_members", &comm));
  use_and_free(comm);
  MUST(MPI_Group_free(&evens));
  end();
}

/* Members arrive one after the other. The tag is reused at once, and two overlapping groups use it
 * in both orders. */
static void late(void) {
  begin();
  MPI_Comm comm;
  usleep(100000 * (unsigned)rank);
  for (int i = 0; i < 20; ++i) {
    MUST(create(world_group, "test.creation.late", &comm));
    use_and_free(comm);
  }
  end();
}

/* Each pair of neighbours creates, in order of rank: chains of overlapping groups with one tag. */
static void chain(void) {
  begin();
  for (int first = 0; first + 1 < size; ++first) {
    if (rank != first && rank != first + 1) continue;
    MPI_Group pair = group_of(first, first + 1, 1);
    MPI_Comm comm;
    MUST(create(pair, "test.creation.chain", &comm));
    use_and_free(comm);
    MUST(MPI_Group_free(&pair));
  }
  end();
}

/* Disjoint groups create with one tag at the same time. */
static void disjoint(void) {
  begin();
  int half = size / 2;
  MPI_Group mine = rank < half ? group_of(0, half - 1, 1) : group_of(half, size - 1, 1);
  for (int i = 0; i < 10; ++i) {
    MPI_Comm comm;
    MUST(create(mine, "test.creation.disjoint", &comm));
    use_and_free(comm);
  }
  MUST(MPI_Group_free(&mine));
  end();
}

static void* one_thread(void* argument) {
  int number = *(int*)argument;
  char tag[64];
  snprintf(tag, sizeof tag, "test.creation.thread-%d", number);
  for (int i = 0; i < 10; ++i) {
    MPI_Comm comm;
    MUST(create(world_group, tag, &comm));
    use_and_free(comm);
  }
  return NULL;
}

/* Four threads create over the same group with different tags; each process starts them in another
 * order. */
static void threads(void) {
  begin();
  pthread_t thread[4];
  int numbers[4];
  for (int t = 0; t < 4; ++t) {
    numbers[t] = (t + rank) % 4;
    pthread_create(&thread[t], NULL, one_thread, &numbers[t]);
  }
  for (int t = 0; t < 4; ++t) pthread_join(thread[t], NULL);
  end();
}

static void* second_thread(void* tag) {
  MPI_Comm comm;
  sleep(2); /* much longer than report_after: the late members have been queried several times */
  MUST(create(world_group, tag, &comm));
  use_and_free(comm);
  return NULL;
}

/* The last rank begins with the other of two tags, and in all processes a second thread calls late
 * with the second tag: no error. */
static void opposite(void) {
  begin_with_level("MPI_THREAD_MULTIPLE");
  char one[] = "test.creation.one-tag", another[] = "test.creation.another_tag";
  const int is_last = rank == size - 1;
  pthread_t second;
  MPI_Comm comm;
  pthread_create(&second, NULL, second_thread, is_last ? another : one);
  MUST(create(world_group, is_last ? one : another, &comm));
  use_and_free(comm);
  pthread_join(second, NULL);
  end();
}

static void empty(void) {
  begin();
  MPI_Comm comm = MPI_COMM_WORLD;
  MUST(create(MPI_GROUP_EMPTY, "test.creation.empty", &comm));
  EXPECT(comm == MPI_COMM_NULL, "the empty group did not give MPI_COMM_NULL");
  MPI_Group others = group_of((rank + 1) % size, (rank + 1) % size, 1);
  if (size > 1) expect_class(create(others, "test.creation.others", &comm), MPI_ERR_GROUP);
  MUST(MPI_Group_free(&others));
  MUST(create(world_group, "test.creation.after", &comm)); /* the library still works */
  use_and_free(comm);
  end();
}

/* Rank 0 uses another group than the others. */
static void other_group(void) {
  begin();
  MPI_Group mine = rank == 0 ? group_of(0, size - 2, 1) : group_of(0, size - 1, 1);
  MPI_Comm comm;
  expect_class(create(mine, "test.creation.other_group", &comm), MPI_ERR_NOT_SAME);
  MUST(MPI_Group_free(&mine));
  MUST(create(world_group, "test.creation.after", &comm));
  use_and_free(comm);
  end();
}

static void disagree_on_tag(void) {
  MPI_Comm comm;
  expect_class(
      create(world_group, rank == size - 1 ? "test.creation.one-tag" : "test.creation.another_tag",
             &comm),
      MPI_ERR_NOT_SAME);
  MUST(create(world_group, "test.creation.after", &comm));
  use_and_free(comm);
  end();
}

/* Members use different tags, and no other thread can call with the tag of the others. */
static void other_tag(void) {
  begin_with_level("MPI_THREAD_SERIALIZED");
  disagree_on_tag();
}

/* Members use different tags; other threads may call, but there are none. */
static void other_tag_alone(void) {
  begin_with_level("MPI_THREAD_MULTIPLE");
  disagree_on_tag();
}

/* The last rank has a session but does not call; the others give up after create_timeout. */
static void missing(void) {
  begin();
  MPI_Comm comm;
  if (rank == size - 1) {
    sleep(4);
  } else {
    expect_class(create(world_group, "test.creation.missing", &comm), MPI_ERR_OTHER);
    MPI_Group present = group_of(0, size - 2, 1);
    MUST(create(present, "test.creation.after", &comm));
    use_and_free(comm);
    MUST(MPI_Group_free(&present));
  }
  end();
}

/* The last rank ends its session and exits. */
static void gone(void) {
  begin();
  MPI_Comm comm;
  MUST(create(world_group, "test.creation.before", &comm));
  use_and_free(comm);
  if (rank == size - 1) {
    end();
    return;
  }
  expect_class(create(world_group, "test.creation.gone", &comm), MPI_ERR_PROC_ABORTED);
  end();
}

static void be_killed(void) { raise(SIGKILL); }
static void quit(void) { _exit(9); }

/* The last rank dies while the others wait for it. */
static void survive(void (*die)(void)) {
  begin();
  MPI_Comm comm;
  MUST(create(world_group, "test.creation.before", &comm));
  MUST(MPI_Comm_free(&comm));
  if (rank == size - 1) die();
  expect_class(create(world_group, "test.creation.dead", &comm), MPI_ERR_PROC_ABORTED);
  MPI_Group present = group_of(0, size - 2, 1);
  MUST(create(present, "test.creation.after", &comm));
  use_and_free(comm);
  MUST(MPI_Group_free(&present));
  end();
}

static void killed(void) { survive(be_killed); }
static void quits(void) { survive(quit); }

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"subset", subset},       {"non_members", non_members},
                   {"late", late},           {"chain", chain},
                   {"disjoint", disjoint},   {"threads", threads},
                   {"empty", empty},         {"other_group", other_group},
                   {"other_tag", other_tag}, {"other_tag_alone", other_tag_alone},
                   {"opposite", opposite},   {"missing", missing},
                   {"gone", gone},           {"killed", killed},
                   {"quits", quits}};
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) {
      scenarios[s].run();
      return verdict();
    }
  fprintf(stderr, "usage: creation SCENARIO\n");
  return 2;
}
