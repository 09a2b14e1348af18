/* SPDX-License-Identifier: BSD-3-Clause */
/* schedules SEED CREATIONS: tests random schedules of creations: several threads of each process,
 * overlapping groups, few tags that are reused at once, late members, opposite orders, sessions
 * that end in between. No schedule may deadlock or confuse creations.
 * (tests/inprocess/soak_test.cpp does this without a launcher, and more often.) */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "session_world.h"

enum { THREADS = 3, STEPS_IN_A_PHASE = 25, MOST_PROCESSES = 64 };
static const char* const tags[THREADS] = {"test.a", "test.b", "test.c"};

/* splitmix64 (Steele, Lea, Flood 2014): the same numbers in all processes for one seed. */
static uint64_t next(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
static int below(uint64_t* state, int limit) { return (int)(next(state) % (uint64_t)limit); }

/* A creation; thread `thread` of each member makes it with the tag. */
struct step {
  int members[MOST_PROCESSES], count, thread;
};

static struct step steps[STEPS_IN_A_PHASE];
static int steps_in_phase;
static MPI_Group everybody;

static void shuffle(int* ranks, int count, uint64_t* random) {
  for (int i = count - 1; i > 0; --i) {
    const int j = below(random, i + 1), kept = ranks[i];
    ranks[i] = ranks[j];
    ranks[j] = kept;
  }
}

/* Sometimes use the group of the step before, so that equal groups and tags follow each other. */
static void plan(struct step* step, uint64_t* random) {
  static int last[MOST_PROCESSES], last_count;
  if (last_count == 0 || below(random, 3) != 0) {
    for (int i = 0; i < size; ++i) last[i] = i;
    shuffle(last, size, random);
    last_count = 2 + below(random, size - 1);
  }
  memcpy(step->members, last, sizeof last);
  step->count = last_count;
  step->thread = below(random, THREADS);
}

static void check(MPI_Comm comm, const struct step* step) {
  int own, members, sum = 0, expected = 0;
  MUST(MPI_Comm_rank(comm, &own));
  MUST(MPI_Comm_size(comm, &members));
  EXPECT(members == step->count && step->members[own] == rank, "rank %d of %d", own, members);
  for (int i = 0; i < step->count; ++i) expected += step->members[i] + 1;
  const int mine = rank + 1;
  MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == expected, "sum %d, not %d", sum, expected);
}

static int is_member(const struct step* step) {
  for (int i = 0; i < step->count; ++i)
    if (step->members[i] == rank) return 1;
  return 0;
}

/* Run the steps of one thread, in order, some of them late. */
static void* run_schedule(void* number) {
  const int thread = (int)(intptr_t)number;
  uint64_t random = (uint64_t)rank * THREADS + (uint64_t)thread;
  for (int i = 0; i < steps_in_phase; ++i) {
    const struct step* step = &steps[i];
    MPI_Group group;
    MPI_Comm comm;
    if (step->thread != thread || !is_member(step)) continue;
    if (below(&random, 8) == 0) usleep((useconds_t)below(&random, 3000));
    MUST(MPI_Group_incl(everybody, step->count, step->members, &group));
    MUST(MPI_Comm_create_from_group(group, tags[thread], MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    check(comm, step);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&group));
  }
  return NULL;
}

static void begin(void) {
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Info_free(&info));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &everybody));
  MUST(MPI_Group_rank(everybody, &rank));
  MUST(MPI_Group_size(everybody, &size));
}

static void end(void) {
  MUST(MPI_Group_free(&everybody));
  MUST(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: schedules <seed> <creations>\n"), 2;
  uint64_t random = strtoull(argv[1], NULL, 10);
  int left = atoi(argv[2]);
  begin();
  if (size < 2 || size > MOST_PROCESSES)
    return fprintf(stderr, "2 to %d processes\n", MOST_PROCESSES), 2;
  while (left > 0) {
    pthread_t threads[THREADS];
    steps_in_phase = left < STEPS_IN_A_PHASE ? left : STEPS_IN_A_PHASE;
    left -= steps_in_phase;
    for (int i = 0; i < steps_in_phase; ++i) plan(&steps[i], &random);
    for (intptr_t i = 0; i < THREADS; ++i)
      pthread_create(&threads[i], NULL, run_schedule, (void*)i);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    int begins_anew = 0;
    for (int i = 0; i < size;
         ++i) { /* drawn for all ranks, so that all processes draw the same numbers */
      const int drawn = below(&random, 3) == 0;
      if (i == rank) begins_anew = drawn;
    }
    if (!begins_anew) continue;
    end();
    begin();
  }
  end();
  return verdict();
}
