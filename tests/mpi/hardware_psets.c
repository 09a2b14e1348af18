/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests process sets of hardware on a synthetic hwloc topology: two sockets, each with a NUMA node,
 * a core and a hardware thread. Before its first session each process binds itself to one of them,
 * each fourth process to both. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "launchers_number.h"
#include "use_group.h"

enum { kBoth = 2 };
static MPI_Group world_group;
static int place_of[64]; /* processor of each rank, kBoth, or -1 on another node */

static int choose(int number) { return number % 4 == 3 ? kBoth : number % 2; }

static void bind(int place) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (place != 1) CPU_SET(0, &set);
  if (place != 0) CPU_SET(1, &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return;
  puts("skipped: needs the processors 0 and 1");
  exit(77);
}

static void check_hardware_sets(int own_place) {
  MPI_Comm node;
  int lowest, nodes[64], places[64];
  MUST(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MUST(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node));
  MUST(MPI_Comm_free(&node));
  MUST(MPI_Allgather(&lowest, 1, MPI_INT, nodes, 1, MPI_INT, world));
  MUST(MPI_Allgather(&own_place, 1, MPI_INT, places, 1, MPI_INT, world));
  for (int r = 0; r < size; ++r) place_of[r] = nodes[r] == lowest ? places[r] : -1;
}

static int members_at(int place) {
  int members = 0;
  for (int r = 0; r < size; ++r) members += place_of[r] == place;
  return members;
}

/* Check that the set has the processes bound to the hardware in its name, and create a communicator
 * from it. */
static void check(const char* name) {
  const int place = atoi(strrchr(name, '/') + 1);
  int members, in_it;
  MPI_Group group;
  MUST(MPI_Group_from_session_pset(session, name, &group));
  MUST(MPI_Group_size(group, &members));
  EXPECT(members == members_at(place), "%s has %d, not %d", name, members, members_at(place));
  for (int i = 0; i < members; ++i) {
    int r = -1;
    MUST(MPI_Group_translate_ranks(group, 1, &i, world_group, &r));
    EXPECT(r >= 0 && place_of[r] == place, "%s: %d", name, r);
  }
  MUST(MPI_Group_rank(group, &in_it));
  EXPECT((in_it != MPI_UNDEFINED) == (place_of[rank] == place), "%s: rank %d", name, in_it);
  use_group(group, name);
  MUST(MPI_Group_free(&group));
}

/* Check all sets whose names begin with a prefix, and return their number. */
static int check_all(const char* prefix) {
  int count, found = 0;
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  for (int n = 0; n < count; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof name;
    MUST(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name));
    if (strncmp(name, prefix, strlen(prefix)) != 0) continue;
    check(name);
    ++found;
  }
  return found;
}

static void check_info(void) {
  MPI_Info info;
  char value[16] = "";
  int flag = 0;
  MUST(MPI_Get_hw_resource_info(&info));
  MUST(MPI_Info_get(info, "hwloc://Package", 15, value, &flag));
  EXPECT(flag && strcmp(value, place_of[rank] == kBoth ? "false" : "true") == 0,
         "bound to a socket: %s", value);
  MUST(MPI_Info_free(&info));
}

int main(void) {
  const int place = choose(launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK"));
  setenv("HWLOC_SYNTHETIC", "pack:2 [numa] core:1 pu:1", 1);
  bind(place);
  open_world("hardware");
  MUST(MPI_Comm_group(world, &world_group));
  check_hardware_sets(place);
  const int expected = (members_at(0) > 0) + (members_at(1) > 0);
  for (int again = 0; again < 2; ++again) {
    EXPECT(check_all("mpix://NUMA/") == expected, "NUMA nodes: not %d", expected);
    EXPECT(check_all("mpix://SOCKET/") == expected, "sockets: not %d", expected);
  }
  check_info();
  MUST(MPI_Group_free(&world_group));
  return close_world();
}
