/* SPDX-License-Identifier: BSD-3-Clause */
/* The creation of communicators from groups: who takes part, who does not, and what is said when members do not agree.
 *
 *   creation SCENARIO
 */
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

static void begin_with_level(const char *level) {
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

static int create(MPI_Group group, const char *tag, MPI_Comm *comm) {
  return MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
}

static void use_and_free(MPI_Comm comm) {
  int n, one = 1, sum = 0;
  MUST(MPI_Comm_size(comm, &n));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == n, "sum %d of %d", sum, n);
  MUST(MPI_Comm_free(&comm));
}

/* What the failed call told, for the test's runner to look at. */
static void tell(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  printf("rank %d was told: %s\n", rank, text);
}

static void expect_class(int code, int expected) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  EXPECT(class == expected, "class %d, not %d", class, expected);
  tell(code);
}

/* Even ranks create; of the odd ones some sleep with a session, some have ended theirs and are gone. (A process that never spoke
 * to the launcher may not end before the others: mpirun takes that for a crash and ends the job.) */
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

/* Has the process of this world rank, which has left a note of its number, been waited for by the launcher? */
static int has_gone(int who) {
  char path[4096];
  int pid = 0;
  snprintf(path, sizeof path, "%s/stranger.%d", getenv("TMPDIR"), who);
  FILE *note = fopen(path, "r");
  int is_complete = note && fscanf(note, "%d\n", &pid) == 1 && fgetc(note) == EOF;
  if (note) fclose(note);
  return is_complete && kill(pid, 0) != 0;
}

/* Even ranks create; the odd ones have exited long before, and never made a call of MPI. (Once others have spoken to it, Open MPI's
 * mpirun ends the job when a process exits that never has; before that it does not mind.) */
static void strangers(void) {
  int me = launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK"), all = launchers_number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  if (me % 2 == 1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/stranger.%d", getenv("TMPDIR"), me);
    FILE *note = fopen(path, "w");
    if (!note || fprintf(note, "%d\n", (int)getpid()) < 0 || fclose(note) != 0) exit(1);
    exit(0);
  }
  for (int who = 1; who < all; who += 2)
    for (int tries = 0; !has_gone(who); ++tries) {
      EXPECT(tries < 10000, "process %d is still there", who);
      usleep(1000);
    }
  begin();
  MPI_Group evens = group_of(0, size - 1, 2);
  MPI_Comm comm;
  MUST(create(evens, "test.creation.strangers", &comm));
  use_and_free(comm);
  MUST(MPI_Group_free(&evens));
  end();
}

/* Members arrive one after the other; the same tag is used at once again, in both orders of two overlapping groups. */
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

/* Every pair of neighbours, in order of rank: chains of overlapping groups, one tag for all. */
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

/* Disjoint groups with one tag at the same time. */
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

static void *one_thread(void *argument) {
  int number = *(int *)argument;
  char tag[64];
  snprintf(tag, sizeof tag, "test.creation.thread-%d", number);
  for (int i = 0; i < 10; ++i) {
    MPI_Comm comm;
    MUST(create(world_group, tag, &comm));
    use_and_free(comm);
  }
  return NULL;
}

/* Four threads create over the same group with different tags, each process starting them in another order. */
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

static void *second_thread(void *tag) {
  MPI_Comm comm;
  sleep(2); /* much longer than report_after: all have been asked where they are, and are asked again */
  MUST(create(world_group, tag, &comm));
  use_and_free(comm);
  return NULL;
}

/* The last rank begins with the other one of two tags, and all have a late thread for their second: that is no mistake. */
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
  MUST(create(world_group, "test.creation.after", &comm)); /* able to go on */
  use_and_free(comm);
  end();
}

/* Rank 0 thinks of another group than the rest. */
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
  expect_class(create(world_group, rank == size - 1 ? "test.creation.one-tag" : "test.creation.another_tag", &comm),
               MPI_ERR_NOT_SAME);
  MUST(create(world_group, "test.creation.after", &comm));
  use_and_free(comm);
  end();
}

/* No other thread may come to the tag of the others. */
static void other_tag(void) {
  begin_with_level("MPI_THREAD_SERIALIZED");
  disagree_on_tag();
}

/* Others might, but there are none. */
static void other_tag_alone(void) {
  begin_with_level("MPI_THREAD_MULTIPLE");
  disagree_on_tag();
}

/* The last rank has a session and does not come; the others give up after create_timeout. */
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

/* The last rank ends its session and leaves. */
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

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {{"subset", subset},   {"strangers", strangers}, {"late", late},     {"chain", chain},       {"disjoint", disjoint},
                   {"threads", threads}, {"empty", empty},   {"other_group", other_group}, {"other_tag", other_tag},
                   {"other_tag_alone", other_tag_alone}, {"opposite", opposite},
                   {"missing", missing}, {"gone", gone},     {"killed", killed}, {"quits", quits}};
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) {
      scenarios[s].run();
      return verdict();
    }
  fprintf(stderr, "usage: creation SCENARIO\n");
  return 2;
}
