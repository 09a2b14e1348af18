/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests flow control: rank 0 sends more to rank 1 than the limit for unexpected messages, long
 * before rank 1 receives. Meanwhile rank 1 waits for a message of another process, which must
 * arrive. The memory of rank 1 stays bounded, and all messages arrive in order.
 *
 *   flood MIB [HELD]          MIB: largest growth of the memory of rank 1; HELD: part of it for
 *                             unexpected messages
 *   flood MIB HELD waiting    rank 1 does not poll and waits only for the one message: messages
 *                             that the provider matches stay with the provider */
#include <stdbool.h>

#include "footprint.h"
#include "session_counts.h"

enum {
  MESSAGES = 10000,
  LENGTH = 2000,
  FLOOD = 1,
  ENOUGH = 2,
  BEGUN = 3,
  GO = 4
}; /* ints: 80 MB in all */

static int filling(int message, int at) { return message * 7 + at; }

/* Open the connection: a provider distinguishes only known senders, and until then the engine polls
 * for messages of all. */
static void open_connection(int other) {
  for (int i = 0; i < 10; ++i)
    MUST(MPI_Sendrecv(NULL, 0, MPI_INT, other, BEGUN, NULL, 0, MPI_INT, other, BEGUN, world,
                      MPI_STATUS_IGNORE));
}

/* Send until the sender is throttled: from some message on, its messages are announced. */
static void send_until_held_back(MPI_Request* requests) {
  int flag = 0;
  while (!flag && count("messages_rendezvous") == 0)
    MUST(MPI_Testall(MESSAGES, requests, &flag, MPI_STATUSES_IGNORE));
  EXPECT(!flag, "all messages have left, and no sender was throttled");
}

static void flood(bool is_waited) {
  int* data = malloc(sizeof(int) * MESSAGES * LENGTH);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * MESSAGES);
  EXPECT(data != NULL && requests != NULL, "memory");
  for (int i = 0; i < MESSAGES; ++i) {
    int* message = data + (size_t)i * LENGTH;
    for (int k = 0; k < LENGTH; ++k) message[k] = filling(i, k);
    MUST(MPI_Isend(message, LENGTH, MPI_INT, 1, FLOOD, world, &requests[i]));
  }
  if (is_waited)
    send_until_held_back(requests);
  else
    MUST(MPI_Recv(NULL, 0, MPI_INT, 1, ENOUGH, world, MPI_STATUS_IGNORE));
  MUST(MPI_Send(NULL, 0, MPI_INT, 2, BEGUN, world));
  MUST(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
  free(requests);
  free(data);
}

/* Probe until the sender is throttled or all messages have arrived unexpected. */
static void poll_until_throttled(void) {
  while (count("senders_held_back") == 0 && count("messages_unexpected") < MESSAGES) {
    int flag;
    MUST(MPI_Iprobe(2, GO, world, &flag, MPI_STATUS_IGNORE));
  }
  EXPECT(count("senders_held_back") == 1, "no sender was throttled");
  MUST(MPI_Send(NULL, 0, MPI_INT, 0, ENOUGH, world));
}

static void run_receiver(long most_mib, long most_held_mib, bool waits) {
  static int message[LENGTH];
  MPI_Status status;
  int wrong = 0;
  if (waits) open_connection(2);
  const long before = resident_kib("RssAnon:");
  if (!waits) poll_until_throttled();
  MUST(MPI_Recv(NULL, 0, MPI_INT, waits ? 2 : MPI_ANY_SOURCE, GO, world, &status));
  EXPECT(count("senders_held_back") > 0, "no sender was throttled");
  const long grown = resident_kib("RssAnon:") - before;
  EXPECT(status.MPI_SOURCE == 2, "from %d", status.MPI_SOURCE);
  EXPECT(grown < most_mib * 1024, "grown by %ld KiB", grown);
  const long held = count("unexpected_most_bytes") / 1024;
  EXPECT(held < most_held_mib * 1024, "%ld KiB unexpected", held);
  printf("grown by %ld KiB, %ld unexpected\n", grown, held);
  for (int i = 0; i < MESSAGES; ++i) {
    MUST(MPI_Recv(message, LENGTH, MPI_INT, i % 2 == 0 ? 0 : MPI_ANY_SOURCE, FLOOD, world,
                  MPI_STATUS_IGNORE));
    for (int k = 0; k < LENGTH; ++k) wrong += message[k] != filling(i, k);
  }
  EXPECT(wrong == 0, "%d wrong", wrong);
}

/* Send rank 1 the message for which it waits; other messages arrive at rank 1 meanwhile. */
static void run_bystander(bool is_waited) {
  if (is_waited) open_connection(1);
  MUST(MPI_Recv(NULL, 0, MPI_INT, 0, BEGUN, world, MPI_STATUS_IGNORE));
  MUST(MPI_Send(NULL, 0, MPI_INT, 1, GO, world));
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) return 2;
  const long most_mib = strtol(argv[1], NULL, 10),
             most_held_mib = strtol(argv[argc == 2 ? 1 : 2], NULL, 10);
  const bool is_waiting = argc == 4;
  keep_malloc_tidy();
  open_world("test.flood");
  EXPECT(size == 3, "%d processes", size);
  if (rank == 0) flood(is_waiting);
  if (rank == 1) run_receiver(most_mib, most_held_mib, is_waiting);
  if (rank == 2) run_bystander(is_waiting);
  return close_world();
}
