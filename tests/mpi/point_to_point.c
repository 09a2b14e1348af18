/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests each mode and form of point-to-point communication on a session communicator, with sizes
 * around each protocol limit. */
#include "session_world.h"

static const int kSizes[] = {0,    1,    7,    8,     56,    57,    1000,    4096,
                             8191, 8192, 8193, 16384, 16385, 70000, 1 << 20, (1 << 22) + 3};
enum { SIZES = sizeof kSizes / sizeof kSizes[0] };

static unsigned char byte_of(int from, int tag, int index) {
  return (unsigned char)(from * 31 + tag * 17 + index * 7 + (index >> 8));
}

static void fill(unsigned char* data, int count, int from, int tag) {
  for (int i = 0; i < count; ++i) data[i] = byte_of(from, tag, i);
}

static void expect_data(const unsigned char* data, int count, int from, int tag) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += data[i] != byte_of(from, tag, i);
  EXPECT(wrong == 0, "%d of %d bytes from %d with tag %d are wrong", wrong, count, from, tag);
}

static void expect_status(const MPI_Status* status, int source, int tag, int count) {
  int got = -1;
  MPI_Get_count(status, MPI_UNSIGNED_CHAR, &got);
  EXPECT(status->MPI_SOURCE == source && status->MPI_TAG == tag && got == count,
         "status: source %d tag %d count %d, not %d %d %d", status->MPI_SOURCE, status->MPI_TAG,
         got, source, tag, count);
}

typedef int (*send_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static const send_function kSends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static const isend_function kIsends[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static const isend_function kInits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                        MPI_Rsend_init};
enum { READY = 3 };

/* Exchange in pairs: even ranks send first. A ready send waits for a message that the receive is
 * posted. */
static void blocking(unsigned char* out, unsigned char* in) {
  int peer = rank ^ 1;
  if (peer >= size) return;
  for (int s = 0; s < SIZES; ++s)
    for (int mode = 0; mode < 4; ++mode)
      for (int turn = 0; turn < 2; ++turn) {
        int tag = s * 10 + mode, count = kSizes[s];
        if (turn == (rank & 1)) {
          fill(out, count, rank, tag);
          if (mode == READY)
            MUST(MPI_Recv(NULL, 0, MPI_CHAR, peer, 9999, world, MPI_STATUS_IGNORE));
          MUST(kSends[mode](out, count, MPI_UNSIGNED_CHAR, peer, tag, world));
        } else {
          MPI_Status status;
          MPI_Request request;
          if (mode == READY) {
            MUST(MPI_Irecv(in, count, MPI_UNSIGNED_CHAR, peer, tag, world, &request));
            MUST(MPI_Send(NULL, 0, MPI_CHAR, peer, 9999, world));
            MUST(MPI_Wait(&request, &status));
          } else {
            MUST(MPI_Recv(in, count, MPI_UNSIGNED_CHAR, mode == 1 ? MPI_ANY_SOURCE : peer,
                          s % 2 ? MPI_ANY_TAG : tag, world, &status));
          }
          expect_status(&status, peer, tag, count);
          expect_data(in, count, peer, tag);
        }
      }
}

/* Exchange messages between all processes at the same time; then repeat with persistent requests,
 * three times. */
static void nonblocking(unsigned char* out, unsigned char* in, int count, int mode,
                        int persistent) {
  MPI_Request* requests = malloc(2 * (size_t)size * sizeof *requests);
  MPI_Status* statuses = malloc(2 * (size_t)size * sizeof *statuses);
  for (int round = 0; round < (persistent ? 3 : 1); ++round) {
    for (int p = 0; p < size; ++p) fill(out + (size_t)p * count, count, rank, p + mode);
    memset(in, 0, (size_t)size * count);
    for (int p = 0; p < size; ++p) {
      if (!persistent)
        MUST(MPI_Irecv(in + (size_t)p * count, count, MPI_UNSIGNED_CHAR, p, rank + mode, world,
                       &requests[p]));
      else if (round == 0)
        MUST(MPI_Recv_init(in + (size_t)p * count, count, MPI_UNSIGNED_CHAR, p, rank + mode, world,
                           &requests[p]));
    }
    if (persistent) MUST(MPI_Startall(size, requests));
    MUST(MPI_Barrier(world)); /* all receives are posted: ready sends are allowed */
    for (int p = 0; p < size; ++p) {
      isend_function start = persistent ? kInits[mode] : kIsends[mode];
      if (!persistent || round == 0)
        MUST(start(out + (size_t)p * count, count, MPI_UNSIGNED_CHAR, p, p + mode, world,
                   &requests[size + p]));
      if (persistent) MUST(MPI_Start(&requests[size + p]));
    }
    MUST(MPI_Waitall(2 * size, requests, statuses));
    for (int p = 0; p < size; ++p) {
      expect_status(&statuses[p], p, rank + mode, count);
      expect_data(in + (size_t)p * count, count, p, rank + mode);
    }
  }
  for (int p = 0; persistent && p < 2 * size; ++p) MUST(MPI_Request_free(&requests[p]));
  for (int p = 0; !persistent && p < 2 * size; ++p)
    EXPECT(requests[p] == MPI_REQUEST_NULL, "request %d is not null", p);
  free(requests);
  free(statuses);
}

static void any_source(void) {
  if (rank != 0) {
    for (int i = 0; i < 50; ++i) MUST(MPI_Send(&i, 1, MPI_INT, 0, rank, world));
    return;
  }
  int* next = calloc(size, sizeof *next);
  for (int n = 0; n < 50 * (size - 1); ++n) {
    int value;
    MPI_Status status;
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status));
    EXPECT(status.MPI_TAG == status.MPI_SOURCE, "tag %d from %d", status.MPI_TAG,
           status.MPI_SOURCE);
    EXPECT(value == next[status.MPI_SOURCE]++, "message %d of %d came out of order", value,
           status.MPI_SOURCE);
  }
  free(next);
}

static void probes(unsigned char* out, unsigned char* in) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int s = 0; s < SIZES; ++s) {
    int count = kSizes[s], flag = 0, got;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    fill(out, count, rank, s);
    MUST(MPI_Isend(out, count, MPI_UNSIGNED_CHAR, next, s, world, &request));
    switch (s % 4) {
      case 0:
        MUST(MPI_Probe(before, s, world, &status));
        MUST(MPI_Recv(in, count, MPI_UNSIGNED_CHAR, before, s, world, MPI_STATUS_IGNORE));
        break;
      case 1:
        while (!flag) MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &status));
        MUST(MPI_Recv(in, count, MPI_UNSIGNED_CHAR, status.MPI_SOURCE, status.MPI_TAG, world,
                      MPI_STATUS_IGNORE));
        break;
      case 2:
        MUST(MPI_Mprobe(MPI_ANY_SOURCE, s, world, &message, &status));
        MUST(MPI_Mrecv(in, count, MPI_UNSIGNED_CHAR, &message, MPI_STATUS_IGNORE));
        EXPECT(message == MPI_MESSAGE_NULL, "the message handle is not null");
        break;
      default: {
        MPI_Request receive;
        while (!flag) MUST(MPI_Improbe(before, s, world, &flag, &message, &status));
        MUST(MPI_Imrecv(in, count, MPI_UNSIGNED_CHAR, &message, &receive));
        MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      }
    }
    MPI_Get_count(&status, MPI_UNSIGNED_CHAR, &got);
    EXPECT(got == count, "probe gives %d, not %d", got, count);
    expect_data(in, count, before, s);
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(world));
  }
}

static void cancel_and_null(void) {
  int value = 5, flag = 0, got = -1;
  MPI_Request request;
  MPI_Status status;
  MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4242, world, &request));
  MUST(MPI_Cancel(&request));
  MUST(MPI_Wait(&request, &status));
  MUST(MPI_Test_cancelled(&status, &flag));
  EXPECT(flag, "the receive was not cancelled");
  MUST(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world, &status));
  MPI_Get_count(&status, MPI_INT, &got);
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && got == 0,
         "status of MPI_PROC_NULL");
  MUST(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world));
  MUST(MPI_Probe(MPI_PROC_NULL, 1, world, &status));
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL, "probe of MPI_PROC_NULL");
}

/* A send without a receive is cancelled, whatever its length and mode, and the next message
 * follows. Without ready sends, which need a receive. */
static void cancelled_sends(unsigned char* out, unsigned char* in) {
  static const int lengths[] = {0, 100, 40000, 1 << 20};
  int peer = rank ^ 1;
  if (peer >= size) return;
  for (int mode = 0; mode < READY; ++mode)
    for (int persistent = 0; persistent < 2; ++persistent)
      for (int l = 0; l < 4; ++l) {
        int count = lengths[l], flag = 0, tag = 10 + (mode * 2 + persistent) * 4 + l;
        MPI_Request request;
        MPI_Status status;
        if (rank & 1) {
          MUST(MPI_Recv(NULL, 0, MPI_CHAR, peer, 1, world,
                        MPI_STATUS_IGNORE)); /* responds to cancel requests meanwhile */
          MUST(MPI_Recv(in, count, MPI_UNSIGNED_CHAR, peer, tag, world, &status));
          expect_status(&status, peer, tag, count);
          expect_data(in, count, peer, 2);
          MUST(MPI_Iprobe(peer, tag, world, &flag, MPI_STATUS_IGNORE));
          EXPECT(!flag, "a cancelled message can be received");
          continue;
        }
        fill(out, count, rank, 1);
        MUST((persistent ? kInits : kIsends)[mode](out, count, MPI_UNSIGNED_CHAR, peer, tag, world,
                                                   &request));
        if (persistent) MUST(MPI_Start(&request));
        MUST(MPI_Cancel(&request));
        MUST(MPI_Wait(&request, &status));
        MUST(MPI_Test_cancelled(&status, &flag));
        EXPECT(flag, "mode %d, persistent %d, %d bytes: not cancelled", mode, persistent, count);
        MUST(MPI_Send(NULL, 0, MPI_CHAR, peer, 1, world));
        fill(out, count, rank, 2);
        if (persistent)
          MUST(MPI_Start(&request));
        else
          MUST(kIsends[mode](out, count, MPI_UNSIGNED_CHAR, peer, tag, world, &request));
        MUST(MPI_Wait(&request, &status));
        MUST(MPI_Test_cancelled(&status, &flag));
        EXPECT(!flag, "a send that was not cancelled reports MPI_Test_cancelled");
        if (persistent) MUST(MPI_Request_free(&request));
      }
}

static void truncation(void) {
  static const int lengths[] = {100, 100000};
  char buffer[100000];
  memset(buffer, rank, sizeof buffer);
  int peer = rank ^ 1;
  if (peer >= size) return;
  for (int l = 0; l < 2; ++l) {
    if (rank & 1) {
      MUST_FAIL(MPI_ERR_TRUNCATE,
                MPI_Recv(buffer, 10, MPI_CHAR, peer, 1, world, MPI_STATUS_IGNORE));
      EXPECT(buffer[10] == rank, "the message was written beyond the end of the buffer");
      buffer[9] = (char)rank;
    } else {
      MUST(MPI_Send(buffer, lengths[l], MPI_CHAR, peer, 1, world));
    }
  }
}

/* All members send first: a library with a handshake before the first message would deadlock. */
static void all_send_first(void) {
  MPI_Comm fresh;
  MUST(MPI_Comm_dup(world, &fresh));
  for (int p = 0; p < size; ++p) MUST(MPI_Send(&rank, 1, MPI_INT, p, 3, fresh));
  for (int p = 0; p < size; ++p) {
    int value;
    MPI_Status status;
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, fresh, &status));
    EXPECT(value == status.MPI_SOURCE, "got %d from %d", value, status.MPI_SOURCE);
  }
  MUST(MPI_Comm_free(&fresh));
}

static int errors_of_freed;
static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++errors_of_freed;
}

/* A freed communicator exists until its requests complete (MPI-4.1 §7.4.3); their errors go to its
 * handler. */
static void freed_before_its_requests(void) {
  enum { COUNT = 100 };
  int next = (rank + 1) % size, before = (rank + size - 1) % size, in[COUNT + 1], out[2] = {7, 8};
  MPI_Request requests[COUNT + 1], too_long;
  MPI_Errhandler handler;
  MPI_Comm fresh, other;
  MUST(MPI_Comm_dup(world, &fresh));
  MUST(MPI_Comm_dup(world, &other));
  MUST(MPI_Comm_create_errhandler(count_error, &handler));
  MUST(MPI_Comm_set_errhandler(fresh, handler));
  MUST(MPI_Errhandler_free(&handler));
  for (int i = 0; i < COUNT; ++i)
    MUST(MPI_Irecv(&in[i], 1, MPI_INT, before, i, i % 2 ? fresh : other, &requests[i]));
  MUST(MPI_Irecv(&in[COUNT], 1, MPI_INT, before, COUNT, fresh, &too_long));
  MUST(MPI_Send_init(out, 1, MPI_INT, next, 1, fresh, &requests[COUNT]));
  for (int i = 0; i < COUNT; ++i)
    if (i != 1) MUST(MPI_Send(&i, 1, MPI_INT, next, i, i % 2 ? fresh : other));
  MUST(MPI_Send(out, 2, MPI_INT, next, COUNT, fresh));
  MUST(MPI_Start(&requests[COUNT]));
  MUST(MPI_Comm_free(&fresh));
  MUST(MPI_Waitall(COUNT + 1, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < COUNT; ++i)
    EXPECT(in[i] == (i == 1 ? 7 : i), "received %d in request %d", in[i], i);
  errors_of_freed = 0;
  EXPECT(MPI_Wait(&too_long, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE, "truncation was not reported");
  EXPECT(errors_of_freed == 1, "the handler of a freed communicator was called %d times",
         errors_of_freed);
  MUST(MPI_Request_free(&requests[COUNT]));
  MUST(MPI_Comm_free(&other));
}

static void wait_and_test_forms(void) {
  enum { COUNT = 6 };
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int form = 0; form < 4; ++form) {
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    int values[COUNT], done = 0, indices[COUNT], seen[COUNT] = {0};
    for (int i = 0; i < COUNT; ++i)
      MUST(MPI_Irecv(&values[i], 1, MPI_INT, before, i, world, &requests[i]));
    for (int i = COUNT - 1; i >= 0; --i) MUST(MPI_Send(&i, 1, MPI_INT, next, i, world));
    while (done < COUNT) {
      int n = 0, flag = 0;
      if (form == 0) MUST(MPI_Waitany(COUNT, requests, &indices[0], &statuses[0]));
      if (form == 1) MUST(MPI_Testany(COUNT, requests, &indices[0], &flag, &statuses[0]));
      if (form == 2) MUST(MPI_Waitsome(COUNT, requests, &n, indices, statuses));
      if (form == 3) MUST(MPI_Testsome(COUNT, requests, &n, indices, statuses));
      if (form < 2) n = form == 0 || flag;
      for (int k = 0; k < n; ++k) {
        int i = indices[k];
        EXPECT(i >= 0 && i < COUNT && !seen[i]++ && statuses[k].MPI_TAG == i && values[i] == i,
               "form %d index %d", form, i);
        ++done;
      }
    }
    int index = 0, flag = 0;
    MUST(MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE));
    EXPECT(index == MPI_UNDEFINED, "Waitany on null requests gives %d", index);
    MUST(MPI_Testall(COUNT, requests, &flag, MPI_STATUSES_IGNORE));
    EXPECT(flag, "Testall on null requests");
  }
}

/* An empty array of requests may be a null pointer, and so may the output arrays (MPI-4.1 §3.7.5).
 */
static void no_requests_at_all(void) {
  int n = 0, index = 0, flag = 0;
  MUST(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  MUST(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
  EXPECT(flag, "Testall");
  MUST(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
  EXPECT(index == MPI_UNDEFINED, "Waitany gives %d", index);
  MUST(MPI_Waitsome(0, NULL, &n, NULL, MPI_STATUSES_IGNORE));
  EXPECT(n == MPI_UNDEFINED, "Waitsome gives %d", n);
  n = 0;
  MUST(MPI_Testsome(0, NULL, &n, NULL, MPI_STATUSES_IGNORE));
  EXPECT(n == MPI_UNDEFINED, "Testsome gives %d", n);
}

static void exchanges(unsigned char* out, unsigned char* in) {
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int s = 0; s < SIZES; ++s) {
    MPI_Status status;
    fill(out, kSizes[s], rank, s);
    MUST(MPI_Sendrecv(out, kSizes[s], MPI_UNSIGNED_CHAR, next, s, in, kSizes[s], MPI_UNSIGNED_CHAR,
                      before, s, world, &status));
    expect_status(&status, before, s, kSizes[s]);
    expect_data(in, kSizes[s], before, s);
    MUST(MPI_Sendrecv_replace(out, kSizes[s], MPI_UNSIGNED_CHAR, next, s, before, s, world,
                              &status));
    expect_data(out, kSizes[s], before, s);
  }
}

/* MPI_Sendrecv_replace with a type whose data extends beyond its extent: a column of a matrix,
 * where each item is one number wide. */
static void replaces_columns(void) {
  enum { ROWS = 50, COLUMNS = 4, FIRST = 1, WIDTH = 2 };
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int matrix[ROWS][COLUMNS];
  MPI_Datatype strided, column;
  for (int row = 0; row < ROWS; ++row)
    for (int i = 0; i < COLUMNS; ++i) matrix[row][i] = 1000 * rank + 10 * row + i;
  MUST(MPI_Type_create_hvector(ROWS, 1, sizeof matrix[0], MPI_INT, &strided));
  MUST(MPI_Type_create_resized(strided, 0, sizeof(int), &column));
  MUST(MPI_Type_commit(&column));
  MUST(MPI_Sendrecv_replace(&matrix[0][FIRST], WIDTH, column, next, 7, before, 7, world,
                            MPI_STATUS_IGNORE));
  for (int row = 0; row < ROWS; ++row)
    for (int i = 0; i < COLUMNS; ++i) {
      const int from = i >= FIRST && i < FIRST + WIDTH ? before : rank;
      EXPECT(matrix[row][i] == 1000 * from + 10 * row + i, "row %d, column %d: %d", row, i,
             matrix[row][i]);
    }
  MUST(MPI_Type_free(&column));
  MUST(MPI_Type_free(&strided));
}

int main(void) {
  open_world("test.point_to_point");
  size_t bytes = (size_t)(1 << 22) + 3,
         all = (size_t)size * 70000 > bytes ? (size_t)size * 70000 : bytes;
  unsigned char *out = malloc(all), *in = malloc(all);
  int buffer_bytes = (int)bytes + 64 * (MPI_BSEND_OVERHEAD + 70000) + MPI_BSEND_OVERHEAD,
      detached_bytes;
  void *buffer = malloc(buffer_bytes), *detached;
  MUST(MPI_Buffer_attach(buffer, buffer_bytes));
  blocking(out, in);
  for (int mode = 0; mode < 4; ++mode)
    for (int persistent = 0; persistent < 2; ++persistent) {
      nonblocking(out, in, 100, mode, persistent);
      nonblocking(out, in, 40000, mode, persistent);
    }
  any_source();
  MUST(MPI_Barrier(world));
  probes(out, in);
  cancel_and_null();
  cancelled_sends(out, in);
  truncation();
  all_send_first();
  freed_before_its_requests();
  wait_and_test_forms();
  no_requests_at_all();
  exchanges(out, in);
  replaces_columns();
  MUST(MPI_Buffer_detach(&detached, &detached_bytes));
  EXPECT(detached == buffer && detached_bytes == buffer_bytes, "detach returned another buffer");
  free(buffer);
  free(out);
  free(in);
  return close_world();
}
