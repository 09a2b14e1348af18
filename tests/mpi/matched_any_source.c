/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests receives from any source and from a named one, probes and matched probes, at the same time,
 * with messages from this node and from others: no message is received twice or lost, and messages
 * of one sender are in order. All processes send to rank 0, which announces for each burst how it
 * receives. */
#include "session_world.h"

enum { kBursts = 150, kMost = 8, kLongest = 40000, kTag = 5 };

struct message {
  int source, number, bytes;
  char rest[kLongest];
};

static int length_of(int source, int number) {
  static const int lengths[] = {0, 100, 2000, 20000, kLongest};
  return (int)sizeof(int) * 3 + lengths[(source * 7 + number) % 5] / 2;
}

static void fill(struct message* message, int source, int number) {
  message->source = source;
  message->number = number;
  message->bytes = length_of(source, number);
  memset(message->rest, 'a' + number % 26, sizeof message->rest);
}

static int next_from[64];

static void check(const struct message* message, const MPI_Status* status) {
  const int source = status->MPI_SOURCE;
  int bytes;
  MUST(MPI_Get_count(status, MPI_BYTE, &bytes));
  EXPECT(message->source == source, "of %d", message->source);
  EXPECT(message->number == next_from[source], "number %d of %d, not %d", message->number, source,
         next_from[source]);
  EXPECT(bytes == length_of(source, message->number), "%d bytes", bytes);
  EXPECT(bytes <= 12 || message->rest[bytes - 13] == 'a' + message->number % 26, "damaged");
  next_from[source] = message->number + 1;
}

static void send_some(int count, int synchronous, int* number) {
  static struct message messages[kMost];
  MPI_Request requests[kMost];
  for (int i = 0; i < count; ++i) {
    fill(&messages[i], rank, *number);
    if (synchronous)
      MUST(MPI_Issend(&messages[i], length_of(rank, *number), MPI_BYTE, 0, kTag, world,
                      &requests[i]));
    else
      MUST(MPI_Isend(&messages[i], length_of(rank, *number), MPI_BYTE, 0, kTag, world,
                     &requests[i]));
    ++*number;
  }
  MUST(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
}

/* Post all receives at once: from any source, from named ones, or alternately. */
static void receive_posted(int count, int how) {
  static struct message got[kMost * 8];
  static MPI_Request requests[kMost * 8];
  static MPI_Status statuses[kMost * 8];
  const int all = count * (size - 1);
  for (int i = 0; i < all; ++i) {
    const int source = how == 0 ? MPI_ANY_SOURCE : 1 + i % (size - 1);
    MUST(MPI_Irecv(&got[i], (int)sizeof got[i], MPI_BYTE, source, i % 3 == 0 ? MPI_ANY_TAG : kTag,
                   world, &requests[i]));
  }
  if (how == 0) MUST(MPI_Barrier(world)); /* the senders wait until all receives are posted */
  MUST(MPI_Waitall(all, requests, statuses));
  for (int i = 0; i < all; ++i) check(&got[i], &statuses[i]);
}

static void receive_one(int how) {
  static struct message got;
  MPI_Status status;
  MPI_Message message;
  if (how == 2) {
    MUST(MPI_Mprobe(MPI_ANY_SOURCE, kTag, world, &message, &status));
    MUST(MPI_Mrecv(&got, (int)sizeof got, MPI_BYTE, &message, &status));
  } else if (how == 3) {
    int found = 0;
    while (!found) MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &found, &status));
    MUST(MPI_Recv(&got, (int)sizeof got, MPI_BYTE, status.MPI_SOURCE, kTag, world, &status));
  } else {
    MUST(MPI_Recv(&got, (int)sizeof got, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status));
  }
  check(&got, &status);
}

int main(void) {
  int number = 0;
  open_world("test.matched_any_source");
  for (int burst = 0; burst < kBursts; ++burst) {
    const int how = burst % 5, count = 1 + burst % kMost;
    if (rank == 0 && how < 2) {
      receive_posted(count, how);
    } else if (rank == 0) {
      for (int i = 0; i < count * (size - 1); ++i) receive_one(how);
    } else {
      if (how == 0) MUST(MPI_Barrier(world));
      send_some(count, burst % 3 == 0, &number);
    }
    MUST(MPI_Barrier(world)); /* keeps messages of the next burst out of this one */
  }
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
