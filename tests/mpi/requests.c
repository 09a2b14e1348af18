/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests requests of each kind: sends and receives, combined, generalized, queried without
 * completion, freed while active, cancelled; on communicators of both models, and in arrays of
 * both. */
#include <stdlib.h>

#include "session_world.h"

static MPI_Comm kind(int i) { return i % 2 ? world : MPI_COMM_WORLD; }
/* Return a communicator: if the native library has MPI_Isendrecv, use only the session communicator
 * (MPICH 4.0 leaves its status unset). */
static MPI_Comm composed(int i) { return MPI_VERSION < 4 ? kind(i) : world; }
static int next_rank(void) { return (rank + 1) % size; }
static int rank_before(void) { return (rank + size - 1) % size; }

enum { LONG = 300000 };

static void one_isendrecv(MPI_Comm comm, int count) {
  static int out[LONG], in[LONG];
  MPI_Request request;
  MPI_Status status;
  int got = -1, flag = 0;
  for (int i = 0; i < count; ++i) out[i] = rank * 7 + i, in[i] = -1;
  MUST(MPI_Isendrecv(out, count, MPI_INT, next_rank(), 3, in, count, MPI_INT, rank_before(), 3,
                     comm, &request));
  MUST(MPI_Wait(&request, &status));
  MUST(MPI_Get_count(&status, MPI_INT, &got));
  EXPECT(request == MPI_REQUEST_NULL && got == count && status.MPI_SOURCE == rank_before() &&
             status.MPI_TAG == 3,
         "status: source %d tag %d count %d", status.MPI_SOURCE, status.MPI_TAG, got);
  for (int i = 0; i < count; ++i) EXPECT(in[i] == rank_before() * 7 + i, "in[%d] is %d", i, in[i]);
  MUST(
      MPI_Isendrecv_replace(out, count, MPI_INT, next_rank(), 4, rank_before(), 4, comm, &request));
  while (!flag) MUST(MPI_Test(&request, &flag, &status));
  EXPECT(status.MPI_SOURCE == rank_before(), "source %d in the status", status.MPI_SOURCE);
  for (int i = 0; i < count; ++i)
    EXPECT(out[i] == rank_before() * 7 + i, "out[%d] is %d", i, out[i]);
}

static void isendrecvs(void) {
  static const int counts[] = {0, 1, 1000, LONG};
  int value = 4;
  MPI_Request requests[4];
  MPI_Status statuses[4];
  for (int k = 0; k < 2; ++k)
    for (int c = 0; c < 4; ++c) one_isendrecv(composed(k), counts[c]);
  int out[2] = {rank, rank + 100}, in[2] = {-1, -1};
  for (int k = 0; k < 2; ++k) {
    MUST(MPI_Isendrecv(&out[k], 1, MPI_INT, next_rank(), 5 + k, &in[k], 1, MPI_INT, rank_before(),
                       5 + k, composed(k), &requests[k]));
    MUST(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, &value, 1, MPI_INT, MPI_PROC_NULL, 5,
                       composed(k), &requests[2 + k]));
  }
  MUST(MPI_Waitall(4, requests, statuses));
  EXPECT(in[0] == rank_before() && in[1] == rank_before() + 100, "got %d and %d", in[0], in[1]);
  EXPECT(statuses[2].MPI_SOURCE == MPI_PROC_NULL && statuses[3].MPI_SOURCE == MPI_PROC_NULL,
         "statuses of MPI_PROC_NULL");
  /* freed while active: both halves complete */
  for (int k = 0; k < 2; ++k) {
    int sent = rank, got = -1;
    MUST(MPI_Isendrecv(&sent, 1, MPI_INT, next_rank(), 6, &got, 1, MPI_INT, rank_before(), 6,
                       composed(k), &requests[0]));
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Barrier(kind(k)));
    while (*(volatile int*)&got != rank_before())
      MUST(MPI_Iprobe(MPI_ANY_SOURCE, 77, composed(k), &value, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(kind(k)));
  }
  value = 4;
  MUST(MPI_Isendrecv_c(&value, (MPI_Count)1, MPI_INT, rank, 7, in, (MPI_Count)1, MPI_INT, rank, 7,
                       world, &requests[0]));
  MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  EXPECT(in[0] == 4, "a message to oneself: %d", in[0]);
  MUST_FAIL(MPI_ERR_RANK,
            MPI_Isendrecv(&value, 1, MPI_INT, size, 0, in, 1, MPI_INT, 0, 0, world, &requests[0]));
  MUST_FAIL(MPI_ERR_TAG,
            MPI_Isendrecv_replace(&value, 1, MPI_INT, 0, -3, 0, 0, world, &requests[0]));
  MUST_FAIL(MPI_ERR_COUNT,
            MPI_Isendrecv_replace(&value, -1, MPI_INT, 0, 0, 0, 0, world, &requests[0]));
  int one[1], two[2] = {1, 2};
  MUST(MPI_Isendrecv(two, 2, MPI_INT, next_rank(), 8, one, 1, MPI_INT, rank_before(), 8, world,
                     &requests[0]));
  MUST_FAIL(MPI_ERR_TRUNCATE, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* Two of four messages have arrived, one of each kind; then all. */
static void looks(void) {
  MPI_Request requests[6];
  MPI_Status statuses[6];
  int values[4], indices[6], index = -1, flag = -1, n = -1;
  requests[4] = requests[5] = MPI_REQUEST_NULL;
  for (int i = 0; i < 4; ++i)
    MUST(MPI_Irecv(&values[i], 1, MPI_INT, rank, 20 + i, kind(i), &requests[i]));
  MUST(MPI_Request_get_status_any(6, requests, &index, &flag, statuses));
  EXPECT(!flag && index == MPI_UNDEFINED, "flag %d index %d before any message", flag, index);
  MUST(MPI_Request_get_status_some(6, requests, &n, indices, statuses));
  EXPECT(n == 0, "%d before any message", n);
  for (int i = 2; i < 4; ++i) MUST(MPI_Send(&i, 1, MPI_INT, rank, 20 + i, kind(i)));
  for (flag = 0; !flag;) MUST(MPI_Request_get_status_any(6, requests, &index, &flag, statuses));
  EXPECT((index == 2 || index == 3) && statuses[0].MPI_TAG == 20 + index, "index %d, tag %d", index,
         statuses[0].MPI_TAG);
  for (n = 0; n < 2;) MUST(MPI_Request_get_status_some(6, requests, &n, indices, statuses));
  EXPECT(n == 2 && indices[0] == 2 && indices[1] == 3 && statuses[0].MPI_TAG == 22 &&
             statuses[1].MPI_TAG == 23,
         "%d: %d %d", n, indices[0], indices[1]);
  MUST(MPI_Request_get_status_all(6, requests, &flag, statuses));
  EXPECT(!flag, "all are complete");
  for (int i = 0; i < 2; ++i) MUST(MPI_Send(&i, 1, MPI_INT, rank, 20 + i, kind(i)));
  for (flag = 0; !flag;) MUST(MPI_Request_get_status_all(6, requests, &flag, statuses));
  for (int i = 0; i < 4; ++i)
    EXPECT(statuses[i].MPI_TAG == 20 + i && requests[i] != MPI_REQUEST_NULL, "status %d", i);
  EXPECT(statuses[4].MPI_SOURCE == MPI_ANY_SOURCE, "the status of a null request is not empty");
  /* requests of one model only */
  for (int k = 0; k < 2; ++k) {
    MPI_Request one[2] = {requests[k], requests[2 + k]};
    MUST(MPI_Request_get_status_all(2, one, &flag, MPI_STATUSES_IGNORE));
    EXPECT(flag, "kind %d", k);
    MUST(MPI_Request_get_status_any(2, one, &index, &flag, MPI_STATUS_IGNORE));
    EXPECT(flag && index == 0, "kind %d: index %d", k, index);
  }
  MUST(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
  MUST(MPI_Request_get_status_any(6, requests, &index, &flag, statuses));
  EXPECT(flag && index == MPI_UNDEFINED, "flag %d index %d without an active request", flag, index);
  MUST(MPI_Request_get_status_some(6, requests, &n, indices, statuses));
  EXPECT(n == MPI_UNDEFINED, "%d without an active request", n);
  MUST(MPI_Request_get_status_all(6, requests, &flag, statuses));
  EXPECT(flag, "null requests are not complete");
}

struct operation {
  int queried, freed, cancelled, complete_when_cancelled;
};
static int on_query(void* state, MPI_Status* status) {
  ++((struct operation*)state)->queried;
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, ((struct operation*)state)->cancelled);
  status->MPI_SOURCE = 5;
  status->MPI_TAG = 6;
  return MPI_SUCCESS;
}
static int on_free(void* state) {
  ++((struct operation*)state)->freed;
  return MPI_SUCCESS;
}
static int on_cancel(void* state, int complete) {
  ((struct operation*)state)->cancelled = 1;
  ((struct operation*)state)->complete_when_cancelled = complete;
  return MPI_SUCCESS;
}
static int on_bad_query(void* state, MPI_Status* status) {
  on_query(state, status);
  return MPI_ERR_IO;
}

static void expect_generalised(const MPI_Status* status, const struct operation* operation,
                               int cancelled) {
  int count = -1, flag = -1;
  MUST(MPI_Get_count(status, MPI_INT, &count));
  MUST(MPI_Test_cancelled(status, &flag));
  EXPECT(count == 3 && status->MPI_SOURCE == 5 && status->MPI_TAG == 6 && flag == cancelled,
         "count %d source %d cancelled %d", count, status->MPI_SOURCE, flag);
  EXPECT(operation->queried > 0 && operation->freed == 1, "%d queries, %d frees",
         operation->queried, operation->freed);
}

/* Create generalized requests, and complete them at once. */
static void generalised(void) {
  struct operation operation = {0, 0, 0, 0};
  MPI_Request request;
  MPI_Status status;
  int flag = -1;
  MUST(MPI_Grequest_start(on_query, on_free, on_cancel, &operation, &request));
  MUST(MPI_Test(&request, &flag, &status));
  EXPECT(!flag, "complete before MPI_Grequest_complete");
  MUST(MPI_Grequest_complete(request));
  MUST(MPI_Request_get_status(request, &flag, &status));
  EXPECT(flag && operation.queried == 1 && operation.freed == 0, "flag %d, %d queries", flag,
         operation.queried);
  MUST(MPI_Wait(&request, &status));
  expect_generalised(&status, &operation, 0);
  EXPECT(request == MPI_REQUEST_NULL, "the handle is not null");
  /* freed before it is complete: the state is freed at completion */
  operation.freed = 0;
  MUST(MPI_Grequest_start(on_query, on_free, on_cancel, &operation, &request));
  MPI_Request copy = request;
  MUST(MPI_Cancel(&request));
  EXPECT(operation.cancelled && !operation.complete_when_cancelled, "cancelled %d",
         operation.cancelled);
  MUST(MPI_Grequest_complete(copy));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(operation.freed == 1, "%d frees", operation.freed);
}

/* A request made before MPI_Init, one made after it, and messages of both models, in one array. */
static void generalised_with_others(MPI_Request early, struct operation* early_operation) {
  struct operation operation = {0, 0, 0, 0};
  MPI_Request requests[4] = {early};
  MPI_Status statuses[4];
  int values[2] = {-1, -1}, flag = -1, n = -1, indices[4];
  MUST(MPI_Grequest_start(on_query, on_free, on_cancel, &operation, &requests[1]));
  for (int k = 0; k < 2; ++k)
    MUST(MPI_Irecv(&values[k], 1, MPI_INT, rank, 30, kind(k), &requests[2 + k]));
  MUST(MPI_Testall(4, requests, &flag, statuses));
  EXPECT(!flag, "all are complete");
  for (int k = 0; k < 2; ++k) MUST(MPI_Send(&k, 1, MPI_INT, rank, 30, kind(k)));
  MUST(MPI_Grequest_complete(requests[0]));
  MUST(MPI_Waitsome(1, requests, &n, indices, statuses));
  EXPECT(n == 1 && indices[0] == 0, "%d", n);
  expect_generalised(&statuses[0], early_operation, 0);
  MUST(MPI_Grequest_complete(requests[1]));
  MUST(MPI_Waitall(4, requests, statuses));
  expect_generalised(&statuses[1], &operation, 0);
  EXPECT(values[0] == 0 && values[1] == 1, "got %d and %d", values[0], values[1]);
}

/* Without statuses, complete requests are freed at once, and a failed one is still reported. */
static void an_error_without_statuses(void) {
  enum { many = 150, bad = 71, free_one = 80 }; /* the failing one is on the session communicator */
  MPI_Request requests[many];
  int values[many], big[3] = {1, 2, 3};
  for (int i = 0; i < many; ++i) {
    values[i] = -1;
    if (i == free_one)
      requests[i] = MPI_REQUEST_NULL;
    else
      MUST(MPI_Irecv(&values[i], 1, MPI_INT, rank, 43, kind(i), &requests[i]));
  }
  for (int i = 0; i < many; ++i)
    if (i != free_one)
      MUST(MPI_Send(i == bad ? big : &i, i == bad ? 3 : 1, MPI_INT, rank, 43, kind(i)));
  MUST_FAIL(MPI_ERR_IN_STATUS, MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < many; ++i) {
    EXPECT(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
    if (i != bad && i != free_one) EXPECT(values[i] == i, "receive %d has %d", i, values[i]);
  }
  MUST(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
}
/* A failed request among others: only its status has the error. */
static void errors_in_statuses(void) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int small[1], big[3] = {1, 2, 3}, values[3];
  for (int k = 0; k < 2; ++k) {
    MUST(MPI_Irecv(&values[k], 1, MPI_INT, rank, 41, kind(k), &requests[k]));
    MUST(MPI_Send(&k, 1, MPI_INT, rank, 41, kind(k)));
  }
  MUST(MPI_Irecv(small, 1, MPI_INT, rank, 40, world, &requests[2]));
  MUST(MPI_Send(big, 3, MPI_INT, rank, 40, world));
  MUST(MPI_Isendrecv(&rank, 1, MPI_INT, rank, 42, &values[2], 1, MPI_INT, rank, 42, composed(0),
                     &requests[3]));
  for (int i = 0; i < 4; ++i) statuses[i].MPI_ERROR = -77;
  MUST_FAIL(MPI_ERR_IN_STATUS, MPI_Waitall(4, requests, statuses));
  for (int i = 0; i < 4; ++i)
    EXPECT(statuses[i].MPI_ERROR == (i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
           "request %d has error %d", i, statuses[i].MPI_ERROR);
  /* without an error the error fields are unchanged */
  for (int k = 0; k < 2; ++k) {
    MUST(MPI_Irecv(&values[k], 1, MPI_INT, rank, 41, kind(k), &requests[k]));
    MUST(MPI_Send(&k, 1, MPI_INT, rank, 41, kind(k)));
  }
  MUST(MPI_Waitall(2, requests, statuses));
}

static void cancels(void) {
  MPI_Request request;
  MPI_Status status;
  int value = -1, flag = -1;
  /* a cancelled persistent receive can be started again */
  MUST(MPI_Recv_init(&value, 1, MPI_INT, rank, 50, world, &request));
  for (int round = 0; round < 2; ++round) {
    MUST(MPI_Start(&request));
    MUST(MPI_Cancel(&request));
    MUST(MPI_Wait(&request, &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    EXPECT(flag, "round %d", round);
  }
  /* unmatched sends, long and synchronous, are cancelled, whatever the other side does */
  char* data = calloc(LONG, 1);
  for (int length = 1; length <= LONG; length += LONG - 1) {
    MPI_Request send;
    MUST(MPI_Issend(data, length, MPI_CHAR, next_rank(), 51, world, &send));
    MUST(MPI_Cancel(&send));
    MUST(MPI_Wait(&send, &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    EXPECT(flag, "a send of %d bytes was not cancelled", length);
    MUST(MPI_Barrier(world));
    MUST(MPI_Iprobe(rank_before(), 51, world, &flag, MPI_STATUS_IGNORE));
    EXPECT(!flag, "a cancelled message of %d bytes can be received", length);
    MUST(MPI_Barrier(world));
  }
  free(data);
  MUST(MPI_Start(&request));
  MUST(MPI_Send(&rank, 1, MPI_INT, rank, 50, world));
  MUST(MPI_Wait(&request, &status));
  MUST(MPI_Test_cancelled(&status, &flag));
  EXPECT(!flag && value == rank, "value %d", value);
  MUST(MPI_Request_free(&request));
  MUST(MPI_Barrier(world));
}

/* The receiver is the caller: one MPI_Test completes the cancellation, because no other process
 * takes part. */
static void cancelled_to_oneself(void) {
  static const int lengths[] = {0, 8, 100000, 5000000};
  char* data = calloc(5000000, 1);
  for (int i = 0; i < 8; ++i) {
    const int length = lengths[i / 2];
    MPI_Request request;
    MPI_Status status;
    int flag;
    if (i % 2 == 0)
      MUST(MPI_Isend(data, length, MPI_CHAR, rank, 52, world, &request));
    else
      MUST(MPI_Issend(data, length, MPI_CHAR, rank, 52, world, &request));
    MUST(MPI_Cancel(&request));
    MUST(MPI_Test(&request, &flag, &status));
    EXPECT(flag, "a send of %d bytes to oneself is not complete after MPI_Cancel and MPI_Test",
           length);
    if (!flag) MUST(MPI_Wait(&request, &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    EXPECT(flag, "a send of %d bytes to oneself was not cancelled", length);
  }
  free(data);
}

static int all_there(const volatile int* values) {
  for (int i = LONG - 1; i >= 0; --i)
    if (values[i] != rank_before() + i) return 0;
  return 1;
}

static void given_back(void) {
  int *out = malloc(LONG * sizeof(int)), *in = malloc(LONG * sizeof(int)),
      *second = malloc(LONG * sizeof(int));
  MPI_Request request, receive;
  int flag;
  for (int i = 0; i < LONG; ++i) out[i] = rank + i;
  MUST(MPI_Irecv(in, LONG, MPI_INT, rank_before(), 60, world, &request));
  MUST(MPI_Request_free(&request));
  MUST(MPI_Irecv(second, LONG, MPI_INT, rank_before(), 61, world, &receive));
  MUST(MPI_Isend(out, LONG, MPI_INT, next_rank(), 60, world, &request));
  MUST(MPI_Request_free(&request));
  MUST(MPI_Send(out, LONG, MPI_INT, next_rank(), 61, world)); /* no message overtakes it */
  MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MUST(MPI_Barrier(world));
  while (!all_there(in)) MUST(MPI_Iprobe(MPI_ANY_SOURCE, 99, world, &flag, MPI_STATUS_IGNORE));
  MUST(MPI_Barrier(world));
  free(out);
  free(in);
  free(second);
}

static void failing_query(void) {
  struct operation operation = {0, 0, 0, 0};
  MPI_Request request;
  MUST(MPI_Grequest_start(on_bad_query, on_free, on_cancel, &operation, &request));
  MUST(MPI_Grequest_complete(request));
  MUST_FAIL(MPI_ERR_IO, MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(operation.freed == 1 && request == MPI_REQUEST_NULL, "%d frees", operation.freed);
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Grequest_complete(request));
}

int main(int argc, char** argv) {
  struct operation early = {0, 0, 0, 0};
  MPI_Request request;
  MUST(MPI_Grequest_start(on_query, on_free, on_cancel, &early, &request));
  generalised();
  failing_query();
  MPI_Init(&argc, &argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  open_world("test.requests");
  generalised();
  generalised_with_others(request, &early);
  isendrecvs();
  looks();
  errors_in_statuses();
  an_error_without_statuses();
  cancels();
  cancelled_to_oneself();
  given_back();
  MPI_Finalize();
  generalised();
  return close_world();
}
