/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the cost of start-up as counts of operations: the limits depend only on the number of
 * nodes, which is the argument. */
#include <time.h>

#include "session_counts.h"
#include "session_world.h"

static int nodes, is_root; /* is_root: lowest process of its node */
static MPI_Group node;     /* processes of this node */

#define AT_MOST(limit, key)                                                            \
  do {                                                                                 \
    long at_most_count = count(key);                                                   \
    EXPECT(at_most_count <= (limit), "%s is %ld, not %ld at most", key, at_most_count, \
           (long)(limit));                                                             \
  } while (0)

static int look_who_is_root(void) {
  int own_rank;
  MUST(MPI_Group_from_session_pset(session, "mpix://SHARED", &node));
  MUST(MPI_Group_rank(node, &own_rank));
  return own_rank == 0;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Largest number of repeated lookups in a time in ms. A lookup is repeated after a quarter of the
 * time waited so far, at least 0.2 ms and at most 50 ms: 30 times within 0.2 s. */
static long retries_within(double passed) { return 30 + (long)(passed / 50); }

/* Largest number of neighbours (children and parent) of a process in a binomial tree of all nodes.
 */
static int neighbours_in_tree(void) {
  int levels = 0;
  while (1 << levels < nodes) ++levels;
  return levels;
}

/* Check a session without a communicator: it has sent no packet to another process, and published
 * nothing for other nodes except for a fence that begins early. */
static void check_alone(const char* exchange) {
  if (nodes == 1 && getenv("OMPI_COMM_WORLD_SIZE") != NULL)
    AT_MOST(0, "launcher_connections"); /* the environment of mpirun is sufficient */
  AT_MOST(0, "launcher_lookups");
  AT_MOST(nodes > 1 && is_root && strcmp(exchange, "ifence") == 0, "launcher_fences");
  AT_MOST(0, "node_connections");
  AT_MOST(0, "contact_connections");
  AT_MOST(0, "fabric_open");
  AT_MOST(0, "control_messages");
}

/* Bytes between node leaders: for each message, and for each member in it, whose address has 12
 * bytes and 5 or 17 for each of its networks, of which there are at most four. */
enum { kMessageBytes = 128, kMemberBytes = 16 + 12 + 4 * 17 };

/* Check the counts after a creation that took `took` ms. The limits are the same for two and for
 * four processes per node. */
static void check_created(const char* exchange, double took) {
  const int fences = strcmp(exchange, "world_fence") == 0 ||
                     (strstr(exchange, "fence") != NULL && is_root);
  AT_MOST(nodes > 1 && (is_root || strcmp(exchange, "world_fence") == 0), "launcher_publishes");
  AT_MOST(nodes > 1 && is_root && rank != 0,
          "launcher_sought"); /* the node leader of the parent node only */
  AT_MOST(2 * (nodes > 1 && is_root && rank != 0),
          "launcher_lookups"); /* repeated if it is slow: a newer address */
  AT_MOST(count("launcher_lookups") * retries_within(took), "launcher_retries");
  AT_MOST(nodes > 1 && fences, "launcher_fences");
  AT_MOST(is_root && nodes > 1, "contact_connections"); /* to the parent */
  AT_MOST(is_root ? neighbours_in_tree() : 0, "contact_messages");
  AT_MOST(count("contact_messages") * (kMessageBytes + size * kMemberBytes),
          "contact_bytes"); /* at most one table of all members */
  AT_MOST(0, "fabric_open");
  AT_MOST(0, "fabric_addresses");
  AT_MOST(0, "fabric_connections");
  AT_MOST(0, "fabric_packets");
}

/* Counters that do not grow for peers that are already known. */
static const char* const kept[] = {
    "launcher_connections", "launcher_publishes", "launcher_lookups",   "launcher_sought",
    "launcher_retries",     "launcher_fences",    "node_connections",   "contact_connections",
    "fabric_open",          "fabric_addresses",   "fabric_connections", "fabric_packets"};
enum { KEPT = sizeof kept / sizeof kept[0] };

static void look_at_kept(long counts[KEPT]) {
  MPI_Info info;
  MUST(MPIX_Session_get_counts(session, &info));
  for (int i = 0; i < KEPT; ++i) counts[i] = count_of(info, kept[i]);
  MUST(MPI_Info_free(&info));
}

/* True if the exchange strategy has a fence for each creation; modex has none. */
static int has_fences_again(const char* exchange) {
  return strcmp(exchange, "fence") == 0 || strcmp(exchange, "world_fence") == 0;
}

static void check_again(MPI_Group group, const char* exchange) {
  long before[KEPT], after[KEPT];
  MPI_Comm second, third, duplicate;
  look_at_kept(before);
  MUST(MPI_Comm_create_from_group(group, "counts.second", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &second));
  MUST(MPI_Comm_create_from_group(group, "counts.third", MPI_INFO_NULL, MPI_ERRORS_RETURN, &third));
  MUST(MPI_Comm_dup(second, &duplicate));
  look_at_kept(after);
  for (int i = 0; i < KEPT; ++i) {
    const long most = has_fences_again(exchange) && strcmp(kept[i], "launcher_fences") == 0
                          ? 2
                          : 0; /* one for each creation, none for the duplicate */
    EXPECT(after[i] >= before[i] && after[i] <= before[i] + most, "%s went from %ld to %ld",
           kept[i], before[i], after[i]);
  }
  MUST(MPI_Comm_free(&duplicate));
  MUST(MPI_Comm_free(&third));
  MUST(MPI_Comm_free(&second));
}

/* Role of this process in the creation of a communicator from a group. */
struct part {
  int is_root, /* the first member on its node */
      others,  /* other members on its node */
      spans_nodes, is_leader;
};

static struct part part_in(MPI_Group group) {
  MPI_Group local;
  int own_rank, members, local_rank, local_members;
  MUST(MPI_Group_intersection(group, node, &local)); /* ordered like the group */
  MUST(MPI_Group_rank(group, &own_rank));
  MUST(MPI_Group_size(group, &members));
  MUST(MPI_Group_rank(local, &local_rank));
  MUST(MPI_Group_size(local, &local_members));
  if (local != MPI_GROUP_EMPTY) MUST(MPI_Group_free(&local));
  return (struct part){local_rank == 0, local_members - 1, members > local_members, own_rank == 0};
}

/* Largest increase of a counter by a communicator among processes that know each other, if its node
 * leaders differ from those before: new links of its tree, and one publication by each new node
 * leader. No address is looked up. */
static long most_more(const char* key, const struct part* part, const char* exchange) {
  const int has_parent = part->is_root && part->spans_nodes && !part->is_leader;
  if (strcmp(key, "launcher_publishes") == 0) return part->is_root && part->spans_nodes;
  if (strcmp(key, "launcher_lookups") == 0)
    return has_parent; /* for a newer address of a slow process */
  if (strcmp(key, "launcher_fences") == 0) return has_fences_again(exchange);
  if (strcmp(key, "contact_connections") == 0) return has_parent;
  if (strcmp(key, "node_connections") == 0) return part->is_root ? part->others : 1;
  return 0;
}

/* Collective over the world. Create a communicator of processes that already share one, with other
 * members or in another order, and check the counts. Processes outside the group do not take part.
 */
static void check_others(MPI_Group group, const char* tag, const char* exchange) {
  long before[KEPT], after[KEPT];
  int own_rank;
  MPI_Comm made;
  look_at_kept(before);
  const double begun = milliseconds();
  MUST(MPI_Group_rank(group, &own_rank));
  const struct part part = own_rank == MPI_UNDEFINED ? (struct part){.is_leader = 1}
                                                     : part_in(group);
  MUST(MPI_Comm_create_from_group(own_rank == MPI_UNDEFINED ? MPI_GROUP_EMPTY : group, tag,
                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  look_at_kept(after);
  const long retries = retries_within(milliseconds() - begun);
  long asked = 0;
  for (int i = 0; i < KEPT; ++i) {
    long most = most_more(kept[i], &part, exchange);
    if (strcmp(kept[i], "launcher_publishes") == 0 && before[i] > 0) most = 0;
    if (strcmp(kept[i], "launcher_lookups") == 0) asked = after[i] - before[i];
    if (strcmp(kept[i], "launcher_retries") == 0) most = asked * retries;
    if (own_rank == MPI_UNDEFINED && strcmp(kept[i], "node_connections") == 0) most = 0;
    EXPECT(after[i] >= before[i] && after[i] <= before[i] + most,
           "%s: %s changed from %ld to %ld, %ld more at most", tag, kept[i], before[i], after[i],
           most);
  }
  if (made != MPI_COMM_NULL) MUST(MPI_Comm_free(&made));
}

static void check_other_groups(MPI_Group group, const char* exchange) {
  MPI_Group reversed, subset;
  int backwards[1][3] = {{size - 1, 0, -1}}, first = 0;
  MUST(MPI_Group_range_incl(group, 1, backwards, &reversed));
  check_others(reversed, "counts.reversed", exchange);
  MUST(MPI_Group_free(&reversed));
  if (size == 1) return;
  MUST(MPI_Group_excl(group, 1, &first, &subset));
  check_others(subset, "counts.subset", exchange);
  MUST(MPI_Group_free(&subset));
}

/* Sums over all processes: no process's share grows with the number of processes on its node. */
struct shares {
  long connections, messages;
};

static struct shares own_shares(void) {
  return (struct shares){count("node_connections"), count("control_messages")};
}

/* Collective. */
static void check_means(struct shares own) {
  long mine[2] = {own.connections, own.messages}, all[2];
  MUST(MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, world));
  EXPECT(all[0] < 2 * size, "%ld connections on nodes of %d processes", all[0], size);
  EXPECT(all[1] <= 3 * 2 * (size - 1),
         "%ld control messages of %d processes for three communicators", all[1], size);
}

/* Collective. Check the counts of a first message between nodes. If a provider is set, the message
 * opens libfabric at both ends. It makes one connection, at the process that sends first, and is
 * counted. */
static void check_message(void) {
  const int other = size - 1, far = nodes > 1,
            opens = far && getenv("INTERSESSION_PROVIDER") != NULL;
  const char *const connections = far ? "fabric_connections" : "node_connections",
                    *const packets = far ? "fabric_packets" : "node_packets";
  const long connections_before = count(connections), packets_before = count(packets),
             addresses_before = count("fabric_addresses");
  int data = 7;
  if (size == 1) return; /* no message leaves the process */
  if (rank == 0) {
    MUST(MPI_Send(&data, 1, MPI_INT, other, 0, world));
    EXPECT(count(connections) <= connections_before + 1, "%s is %ld", connections,
           count(connections));
    EXPECT(count(packets) > packets_before, "%s stays %ld", packets, packets_before);
    EXPECT(count("fabric_addresses") <= addresses_before + opens,
           "addresses changed from %ld to %ld", addresses_before, count("fabric_addresses"));
    EXPECT(count("fabric_open") == opens, "fabric_open is %ld", count("fabric_open"));
  } else if (rank == other) {
    MUST(MPI_Recv(&data, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE));
    EXPECT(count("fabric_open") == opens, "fabric_open is %ld", count("fabric_open"));
  } else {
    AT_MOST(0, "fabric_open");
    EXPECT(count("fabric_addresses") == addresses_before,
           "addresses of a process that neither sends nor receives");
  }
}

static void check_misuse(void) {
  MPI_Info counts;
  MUST_FAIL(MPI_ERR_SESSION, MPIX_Session_get_counts(MPI_SESSION_NULL, &counts));
  MUST_FAIL(MPI_ERR_ARG, PMPIX_Session_get_counts(session, NULL));
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: counts <nodes> <exchange>\n"), 2;
  MPI_Group group;
  MPI_Comm self;
  nodes = atoi(argv[1]);
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MUST(MPI_Group_size(group, &size));
  MUST(MPI_Group_rank(group, &rank));
  is_root = look_who_is_root();
  check_alone(argv[2]);
  MPI_Group alone;
  MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &alone));
  MUST(MPI_Comm_create_from_group(alone, "self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self));
  check_alone(argv[2]);
  const double begun = milliseconds();
  MUST(MPI_Comm_create_from_group(group, "counts", MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  check_created(argv[2], milliseconds() - begun);
  check_again(group, argv[2]);
  const struct shares of_equal_groups = own_shares();
  check_other_groups(group, argv[2]);
  check_message();
  check_means(of_equal_groups);
  check_misuse();
  MUST(MPI_Group_free(&node));
  MUST(MPI_Group_free(&alone));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_free(&self));
  return close_world();
}
