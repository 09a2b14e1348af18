/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests calls that create a communicator from another one if a process dies before the call, or
 * while other members are in it.
 *
 * Each survivor's call ends with an MPI error in bounded time, or creates a communicator whose next
 * barrier ends with one. A communicator of the survivors works.
 *
 *   creation_deaths LAUNCHER CREATION VICTIM before|within     (death.h) */
#include "death.h"
#include "session_world.h"

enum { MOST = 16, TAG = 3, FIRST_HIGH = 2 };
static const double most_seconds = 10;

static int victim;
static MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL; /* of this half; between both halves */
static MPI_Comm nested = MPI_COMM_NULL; /* a duplicate of a duplicate of … the world */

static int is_high(void) { return rank >= FIRST_HIGH; }
/* Return the leader of the other half, its first process. */
static int leader_of_other_half(void) { return is_high() ? 0 : FIRST_HIGH; }

static int dup_world(MPI_Comm* made) { return MPI_Comm_dup(world, made); }
static int dup_inter(MPI_Comm* made) { return MPI_Comm_dup(inter, made); }
/* So many generations that members cannot compute the context id and exchange one. */
static int dup_nested(MPI_Comm* made) { return MPI_Comm_dup(nested, made); }
static int idup_nested(MPI_Comm* made) {
  MPI_Request request;
  const int code = MPI_Comm_idup(nested, made, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int split(MPI_Comm* made) { return MPI_Comm_split(world, 0, -rank, made); }
static int split_inter(MPI_Comm* made) { return MPI_Comm_split(inter, 0, -rank, made); }
static int create(MPI_Comm* made) {
  MPI_Group group;
  MUST(MPI_Comm_group(world, &group));
  const int code = MPI_Comm_create(world, group, made);
  MUST(MPI_Group_free(&group));
  return code;
}
static int create_group(MPI_Comm* made) {
  MPI_Group group;
  MUST(MPI_Comm_group(world, &group));
  const int code = MPI_Comm_create_group(world, group, TAG, made);
  MUST(MPI_Group_free(&group));
  return code;
}
static int intercomm_create(MPI_Comm* made) {
  return MPI_Intercomm_create(half, 0, world, leader_of_other_half(), TAG, made);
}
static int intercomm_merge(MPI_Comm* made) { return MPI_Intercomm_merge(inter, is_high(), made); }

static const struct {
  const char* name;
  int (*call)(MPI_Comm* made);
} creations[] = {{"dup", dup_world},
                 {"dup_inter", dup_inter},
                 {"dup_nested", dup_nested},
                 {"idup_nested", idup_nested},
                 {"split", split},
                 {"split_inter", split_inter},
                 {"create", create},
                 {"create_group", create_group},
                 {"intercomm_create", intercomm_create},
                 {"intercomm_merge", intercomm_merge}};

static void make_halves(void) {
  MUST(MPI_Comm_split(world, is_high(), rank, &half));
  MUST(MPI_Intercomm_create(half, 0, world, leader_of_other_half(), TAG, &inter));
}

static void make_nested(void) {
  enum { GENERATIONS = 30 };
  MUST(MPI_Comm_dup(world, &nested));
  for (int i = 1; i < GENERATIONS; ++i) {
    MPI_Comm next;
    MUST(MPI_Comm_dup(nested, &next));
    MUST(MPI_Comm_free(&nested));
    nested = next;
  }
}

/* Create until a call fails: a creation without messages may succeed, but not the first use of the
 * communicator. */
static void make_until_it_fails(int (*call)(MPI_Comm*), const char* name) {
  MPI_Comm made = MPI_COMM_NULL;
  int code, class, length;
  char text[MPI_MAX_ERROR_STRING];
  const double begin = MPI_Wtime();
  do {
    code = call(&made);
    if (code == MPI_SUCCESS) {
      code = MPI_Barrier(made);
      MUST(MPI_Comm_free(&made));
    }
  } while (code == MPI_SUCCESS);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("%s ended at rank %d after %.3f s: %s\n", name, rank, MPI_Wtime() - begin, text);
  EXPECT(class == MPI_ERR_PROC_ABORTED, "%s: class %d: %s", name, class, text);
  EXPECT(MPI_Wtime() - begin < most_seconds, "%s took %.3f s", name, MPI_Wtime() - begin);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  victim = atoi(argv[3]);
  int (*call)(MPI_Comm*) = NULL;
  for (size_t i = 0; i < sizeof creations / sizeof creations[0]; ++i)
    if (strcmp(creations[i].name, argv[2]) == 0) call = creations[i].call;
  if (call == NULL) return 2;
  open_world("test.creation_deaths");
  EXPECT(size <= MOST, "%d processes", size);
  make_halves();
  make_nested();
  wait_for_other_ranks(victim);
  if (rank == victim) {
    if (strcmp(argv[4], "within") == 0) usleep(200000); /* by then the others wait in the call */
    die_under(argv[1]);
  }
  make_until_it_fails(call, argv[2]);
  check_survivors(victim);
  MUST(MPI_Comm_free(&nested));
  MUST(MPI_Comm_free(&inter));
  MUST(MPI_Comm_free(&half));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
