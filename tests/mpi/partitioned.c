/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests partitioned communication: different numbers of partitions, many starts, several requests
 * with one tag, partitions marked by several threads, and other messages with the same ranks and
 * tags. */
#include <pthread.h>
#include <stdint.h>

#include "session_world.h"

enum { ITEMS = 24000, TAG = 7 };
static int out[ITEMS], in[ITEMS];

static int next_rank(void) { return (rank + 1) % size; }
static int rank_before(void) { return (rank + size - 1) % size; }
static int value_of(int from, int round, int i) { return from * 1000003 + round * 101 + i; }

static void fill(int round) {
  for (int i = 0; i < ITEMS; ++i) out[i] = value_of(rank, round, i), in[i] = -1;
}
static void expect_all(int round) {
  int wrong = 0;
  for (int i = 0; i < ITEMS; ++i) wrong += in[i] != value_of(rank_before(), round, i);
  EXPECT(wrong == 0, "round %d: %d of %d items are wrong", round, wrong, ITEMS);
}

static void differing_numbers(int sent, int received) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag = -1, got = -1;
  MUST(MPI_Psend_init(out, sent, ITEMS / sent, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL,
                      &requests[0]));
  MUST(MPI_Precv_init(in, received, ITEMS / received, MPI_INT, rank_before(), TAG, world,
                      MPI_INFO_NULL, &requests[1]));
  MUST(MPI_Parrived(requests[1], 0, &flag));
  EXPECT(flag, "an inactive request has not arrived");
  for (int round = 0; round < 3; ++round) {
    fill(round);
    MUST(MPI_Startall(2, requests));
    int other = round * 5;
    MUST(MPI_Sendrecv_replace(&other, 1, MPI_INT, next_rank(), TAG, rank_before(), TAG, world,
                              MPI_STATUS_IGNORE));
    EXPECT(other == round * 5, "a message of the same tag: %d", other);
    MUST(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    EXPECT(!flag, "complete without a partition that is ready");
    for (int p = sent - 1; p > sent / 2; --p) MUST(MPI_Pready(p, requests[0]));
    if (sent / 2 > 0) MUST(MPI_Pready_range(1, sent / 2, requests[0]));
    MUST(MPI_Parrived(requests[1], 0, &flag)); /* no process has sent the first partition */
    EXPECT(!flag, "the first partition has arrived");
    MUST(MPI_Barrier(world));
    MUST(MPI_Pready_list(1, (int[]){0}, requests[0]));
    if (round != 1)
      for (int p = 0; p < received; ++p)
        for (flag = 0; !flag;) MUST(MPI_Parrived(requests[1], p, &flag));
    MUST(MPI_Waitall(2, requests, statuses));
    MUST(MPI_Get_count(&statuses[1], MPI_INT, &got));
    EXPECT(statuses[1].MPI_SOURCE == rank_before() && statuses[1].MPI_TAG == TAG && got == ITEMS,
           "status: source %d tag %d count %d", statuses[1].MPI_SOURCE, statuses[1].MPI_TAG, got);
    EXPECT(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a handle is null");
    expect_all(round);
  }
  MUST(MPI_Request_free(&requests[0]));
  MUST(MPI_Request_free(&requests[1]));
}

/* Requests with one tag match in the order of their initialisation, not of their starts. */
static void in_order_of_init(void) {
  enum { REQUESTS = 4 };
  MPI_Request sends[REQUESTS], receives[REQUESTS];
  int sent[REQUESTS], got[REQUESTS];
  for (int i = 0; i < REQUESTS; ++i) {
    sent[i] = rank * 10 + i, got[i] = -1;
    MUST(
        MPI_Psend_init(&sent[i], 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &sends[i]));
  }
  for (int i = 0; i < REQUESTS; ++i)
    MUST(MPI_Precv_init(&got[i], 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                        &receives[i]));
  MUST(MPI_Request_free(&sends[1])); /* never started; the match remains */
  MUST(MPI_Request_free(&receives[1]));
  for (int i = REQUESTS - 1; i >= 0; --i) {
    if (i == 1) continue;
    MUST(MPI_Start(&sends[i]));
    MUST(MPI_Pready(0, sends[i]));
  }
  for (int i = 0; i < REQUESTS; ++i) {
    if (i == 1) continue;
    MUST(MPI_Start(&receives[i]));
    MUST(MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
    EXPECT(got[i] == rank_before() * 10 + i, "request %d got %d", i, got[i]);
    MUST(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&sends[i]));
    MUST(MPI_Request_free(&receives[i]));
  }
}

static void expect_pair_works(const char* after) {
  MPI_Request requests[2];
  int sent = rank, got = -1;
  MUST(MPI_Psend_init(&sent, 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &requests[0]));
  MUST(MPI_Precv_init(&got, 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL, &requests[1]));
  MUST(MPI_Startall(2, requests));
  MUST(MPI_Pready(0, requests[0]));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  EXPECT(got == rank_before(), "after %s: %d", after, got);
  MUST(MPI_Request_free(&requests[0]));
  MUST(MPI_Request_free(&requests[1]));
}

/* Requests that are freed before their first start match nothing, whether one side frees or both.
 */
static void freed_before_start(void) {
  MPI_Request send, receive, others[2];
  int first = rank, second = rank + 100, got[2] = {-1, -1};
  MUST(MPI_Precv_init(got, 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL, &receive));
  MUST(MPI_Request_free(&receive));
  expect_pair_works("a freed receive");
  MUST(MPI_Psend_init(&first, 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &send));
  MUST(MPI_Request_free(&send));
  expect_pair_works("a freed send");
  MUST(MPI_Psend_init(&first, 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &send));
  MUST(MPI_Precv_init(got, 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL, &receive));
  MUST(MPI_Request_free(&send));
  MUST(MPI_Request_free(&receive));
  expect_pair_works("a freed pair");
  /* between two others */
  MUST(MPI_Psend_init(&first, 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &others[0]));
  MUST(MPI_Psend_init(&second, 1, 1, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &others[1]));
  MPI_Request receives[3];
  MUST(MPI_Precv_init(&got[0], 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                      &receives[0]));
  MUST(MPI_Precv_init(&got[0], 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                      &receives[1]));
  MUST(MPI_Precv_init(&got[1], 1, 1, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                      &receives[2]));
  MUST(MPI_Request_free(&receives[1]));
  receives[1] = receives[2];
  MUST(MPI_Startall(2, others));
  MUST(MPI_Pready(0, others[1]));
  MUST(MPI_Pready(0, others[0]));
  MUST(MPI_Startall(2, receives));
  MUST(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
  MUST(MPI_Waitall(2, others, MPI_STATUSES_IGNORE));
  EXPECT(got[0] == rank_before() && got[1] == rank_before() + 100, "got %d and %d", got[0], got[1]);
  for (int i = 0; i < 2; ++i) {
    MUST(MPI_Request_free(&others[i]));
    MUST(MPI_Request_free(&receives[i]));
  }
}

/* Partitions without bytes arrive after the sender has marked them. */
static void without_bytes(void) {
  enum { PARTS = 2 };
  MPI_Request requests[2];
  int flag = -1;
  MUST(MPI_Psend_init(NULL, PARTS, 0, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL,
                      &requests[0]));
  MUST(MPI_Precv_init(NULL, PARTS, 0, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                      &requests[1]));
  for (int round = 0; round < 2; ++round) {
    MUST(MPI_Start(&requests[1]));
    MUST(MPI_Parrived(requests[1], 0, &flag));
    EXPECT(!flag, "round %d: arrived before the sender has started", round);
    MUST(MPI_Barrier(world));
    MUST(MPI_Start(&requests[0]));
    MUST(MPI_Pready(1, requests[0]));
    for (flag = 0; !flag;) MUST(MPI_Parrived(requests[1], 1, &flag));
    MUST(MPI_Parrived(requests[1], 0, &flag));
    EXPECT(!flag, "round %d: arrived before it was marked", round);
    MUST(MPI_Barrier(world));
    MUST(MPI_Pready(0, requests[0]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  MUST(MPI_Request_free(&requests[0]));
  MUST(MPI_Request_free(&requests[1]));
}

enum { THREADS = 4, EACH = 6 };
static MPI_Request shared;
static void* mark_some(void* number) {
  int first = (int)(intptr_t)number * EACH;
  for (int p = first; p < first + EACH; ++p) {
    for (int i = p * (ITEMS / THREADS / EACH); i < (p + 1) * (ITEMS / THREADS / EACH); ++i)
      out[i] = value_of(rank, 9, i);
    MUST(MPI_Pready(p, shared));
  }
  return NULL;
}

static void by_threads(void) {
  pthread_t threads[THREADS];
  MPI_Request receive;
  fill(0);
  MUST(MPI_Psend_init(out, THREADS * EACH, ITEMS / THREADS / EACH, MPI_INT, next_rank(), TAG, world,
                      MPI_INFO_NULL, &shared));
  MUST(MPI_Precv_init(in, 3, ITEMS / 3, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL,
                      &receive));
  for (int round = 0; round < 3; ++round) {
    memset(in, 0, sizeof in);
    MUST(MPI_Start(&receive));
    MUST(MPI_Start(&shared));
    for (intptr_t t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, mark_some, (void*)t);
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    MUST(MPI_Wait(&shared, MPI_STATUS_IGNORE));
    expect_all(9);
  }
  MUST(MPI_Request_free(&shared));
  MUST(MPI_Request_free(&receive));
}

static void null_ranks_and_empty_messages(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag = 0;
  MUST(MPI_Psend_init(out, 2, 1, MPI_INT, MPI_PROC_NULL, TAG, world, MPI_INFO_NULL, &requests[0]));
  MUST(MPI_Precv_init(in, 2, 1, MPI_INT, MPI_PROC_NULL, TAG, world, MPI_INFO_NULL, &requests[1]));
  MUST(MPI_Startall(2, requests));
  MUST(MPI_Pready_range(0, 1, requests[0]));
  MUST(MPI_Parrived(requests[1], 1, &flag));
  EXPECT(flag, "a receive from MPI_PROC_NULL has no arrived partition");
  MUST(MPI_Waitall(2, requests, statuses));
  EXPECT(statuses[1].MPI_SOURCE == MPI_PROC_NULL, "source %d", statuses[1].MPI_SOURCE);
  for (int i = 0; i < 2; ++i) MUST(MPI_Request_free(&requests[i]));
  MUST(MPI_Psend_init(NULL, 0, 0, MPI_INT, next_rank(), TAG, world, MPI_INFO_NULL, &requests[0]));
  MUST(MPI_Precv_init(NULL, 0, 0, MPI_INT, rank_before(), TAG, world, MPI_INFO_NULL, &requests[1]));
  MUST(MPI_Startall(2, requests));
  MUST(MPI_Waitall(2, requests, statuses));
  for (int i = 0; i < 2; ++i) MUST(MPI_Request_free(&requests[i]));
}

static void wrong_input(void) {
  MPI_Request send, receive;
  int flag;
  MUST_FAIL(MPI_ERR_ARG, MPI_Psend_init(out, -1, 1, MPI_INT, 0, TAG, world, MPI_INFO_NULL, &send));
  MUST_FAIL(MPI_ERR_COUNT,
            MPI_Psend_init(out, 1, -1, MPI_INT, 0, TAG, world, MPI_INFO_NULL, &send));
  MUST_FAIL(MPI_ERR_RANK,
            MPI_Psend_init(out, 1, 1, MPI_INT, size, TAG, world, MPI_INFO_NULL, &send));
  MUST_FAIL(MPI_ERR_RANK,
            MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, MPI_INFO_NULL, &receive));
  MUST_FAIL(MPI_ERR_TAG,
            MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_INFO_NULL, &receive));
  MUST_FAIL(MPI_ERR_BUFFER,
            MPI_Precv_init(NULL, 1, 1, MPI_INT, 0, TAG, world, MPI_INFO_NULL, &receive));
  MUST(MPI_Psend_init(out, 4, 1, MPI_INT, rank, TAG, world, MPI_INFO_NULL, &send));
  MUST(MPI_Precv_init(in, 2, 1, MPI_INT, rank, TAG, world, MPI_INFO_NULL, &receive));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Pready(0, send)); /* not started */
  MUST(MPI_Start(&send));
  MUST(MPI_Start(&receive));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Start(&send));
  MUST_FAIL(MPI_ERR_ARG, MPI_Pready(4, send));
  MUST_FAIL(MPI_ERR_ARG, MPI_Pready(-1, send));
  MUST_FAIL(MPI_ERR_ARG, MPI_Pready_range(2, 1, send));
  MUST(MPI_Pready(2, send));
  MUST_FAIL(MPI_ERR_ARG, MPI_Pready(2, send));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Pready(0, receive));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
  MUST_FAIL(MPI_ERR_ARG, MPI_Parrived(receive, 2, &flag));
  MUST(MPI_Pready_list(3, (int[]){3, 0, 1}, send));
  in[2] = -5;
  MUST_FAIL(MPI_ERR_TRUNCATE,
            MPI_Wait(&receive, MPI_STATUS_IGNORE)); /* four items for a buffer of two */
  EXPECT(in[2] == -5, "the third item was written after a buffer of two");
  MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  MUST(MPI_Request_free(&send));
  MUST(MPI_Request_free(&receive));
  MUST(MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 0, world, &send));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Pready(0, send));
  MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

int main(void) {
  static const int numbers[][2] = {{1, 1}, {4, 4}, {1, 24}, {24, 1}, {8, 3}, {3, 8}, {6000, 20}};
  open_world("test.partitioned");
  for (int n = 0; n < 7; ++n) differing_numbers(numbers[n][0], numbers[n][1]);
  in_order_of_init();
  freed_before_start();
  without_bytes();
  by_threads();
  null_ranks_and_empty_messages();
  wrong_input();
  return close_world();
}
