/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that messages whose sender and receiver wait for nothing else are copied through the memory
 * of the node, and not read from the sender's memory (docs/decisions/0046-cell-pool.md). This
 * program's process_vm_readv counts the reads. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "session_world.h"

enum {
  BYTES = 64 * 1024,
  TAG = 3,
  TRIES_AT_MOST = 64
}; /* sizes in bytes; the library tests with less than the last one whether it may read */

static atomic_int reads,
    tries; /* reads of data; successful reads; reads that test the permission */

ssize_t process_vm_readv(pid_t pid, const struct iovec* own, unsigned long own_count,
                         const struct iovec* theirs, unsigned long their_count,
                         unsigned long flags) {
  long got = syscall(SYS_process_vm_readv, pid, own, own_count, theirs, their_count, flags);
  if (got > TRIES_AT_MOST)
    ++reads;
  else if (got > 0)
    ++tries;
  return got;
}

static int partner;
static char given[BYTES], taken[BYTES];

static void send_and_receive(void) {
  if (rank == 0)
    MUST(MPI_Send(given, BYTES, MPI_BYTE, partner, TAG, world));
  else
    MUST(MPI_Recv(taken, BYTES, MPI_BYTE, partner, TAG, world, MPI_STATUS_IGNORE));
}
static void sendrecv(void) {
  MUST(MPI_Sendrecv(given, BYTES, MPI_BYTE, partner, TAG, taken, BYTES, MPI_BYTE, partner, TAG,
                    world, MPI_STATUS_IGNORE));
}
static void sendrecv_replace(void) {
  memcpy(taken, given, BYTES);
  MUST(MPI_Sendrecv_replace(taken, BYTES, MPI_BYTE, partner, TAG, partner, TAG, world,
                            MPI_STATUS_IGNORE));
}
static void isend_and_irecv(void) {
  MPI_Request requests[2];
  MUST(MPI_Irecv(taken, BYTES, MPI_BYTE, partner, TAG, world, &requests[0]));
  MUST(MPI_Isend(given, BYTES, MPI_BYTE, partner, TAG, world, &requests[1]));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static const struct Way {
  const char* name;
  void (*exchange)(void);
  int is_read, receives_at_both;
} ways[] = {
    {"MPI_Send and MPI_Recv", send_and_receive, 0, 0},
    {"MPI_Sendrecv", sendrecv, 0, 1},
    {"MPI_Sendrecv_replace", sendrecv_replace, 0, 1},
    {"MPI_Isend and MPI_Irecv", isend_and_irecv, 1,
     1}, /* the thread that started it may do other work, so the receiver reads */
};

static void run(const struct Way* way, int round) {
  int before = reads, is_receiver = rank == 1 || way->receives_at_both;
  memset(given, 'a' + rank + round, BYTES);
  memset(taken, 0, BYTES);
  way->exchange();
  if (!is_receiver) return;
  EXPECT(taken[0] == 'a' + partner + round && taken[BYTES - 1] == taken[0], "%s: %d, %d", way->name,
         taken[0], taken[BYTES - 1]);
  if (!way->is_read)
    EXPECT(reads == before, "%s, round %d: %d reads", way->name, round, reads - before);
  else if (tries > 0)
    EXPECT(reads > before, "%s, round %d: nothing was read", way->name, round);
}

int main(void) {
  open_world("test.streams");
  EXPECT(size == 2, "%d processes", size);
  partner = 1 - rank;
  int word = 0; /* a process that has never sent does not know its link to the sender, and reads */
  MUST(MPI_Sendrecv_replace(&word, 1, MPI_INT, partner, TAG, partner, TAG, world,
                            MPI_STATUS_IGNORE));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
    for (int round = 0; round < 4; ++round) {
      run(&ways[i], round);
      MUST(MPI_Barrier(world));
    }
  if (tries == 0)
    puts("processes may not read each other's memory here, so this test shows little");
  return close_world();
}
