/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the ULFM functions on session communicators:
 *
 *   survivor_tools LAUNCHER CASE
 *
 *   pending            a receive from any source is interrupted when a member dies, and continues
 *                      after the acknowledgement
 *   pending_elsewhere  as pending, with a member of the other node
 *   revoked            all operations end at all members; agreement and shrinking work
 *   freed              a communicator is revoked and freed at once
 *   agreement          all survivors get one result while members die, the coordinator among them
 *   shrinking          survivors create smaller and smaller communicators while members die
 *   later, shrinking_later, many  as agreement and shrinking, with non-blocking calls
 *   inter              on an intercommunicator
 *   world              on MPI_COMM_WORLD: functions of the native library, or unsupported */
#include <pthread.h>
#include <time.h>

#include "death.h"
#include "session_world.h"

enum { TAG = 7, ITEMS = 1000000, AGREEMENTS = 300 };

static const char* launcher;

static int size_of(MPI_Group group) {
  int count;
  MUST(MPI_Group_size(group, &count));
  MUST(MPI_Group_free(&group));
  return count;
}

static int failed_count(MPI_Comm comm) {
  MPI_Group group;
  MUST(MPIX_Comm_get_failed(comm, &group));
  return size_of(group);
}

static int acknowledged_count(MPI_Comm comm) {
  MPI_Group group;
  MUST(MPIX_Comm_failure_get_acked(comm, &group));
  return size_of(group);
}

/* A member dies. Rank 0 waits for a message from any source, which rank 2 sends on request. */
static void pending(int victim) {
  MPI_Request requests[3];
  MPI_Status status, statuses[3];
  MPI_Message message;
  int value = 0, other = 0, flag = 1, index, indices[3], count, acknowledged;
  if (rank == victim) die_under(launcher);
  if (rank != 0 && rank != 2)
    MUST_FAIL(MPIX_ERR_PROC_FAILED,
              MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &status));
  if (rank == 2) {
    MUST(MPI_Recv(&value, 1, MPI_INT, 0, TAG, world, MPI_STATUS_IGNORE));
    for (value = 40; value < 44; ++value) MUST(MPI_Send(&value, 1, MPI_INT, 0, TAG, world));
  }
  if (rank != 0) return;
  MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &requests[0]));
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&requests[0], &status));
  EXPECT(requests[0] != MPI_REQUEST_NULL, "the request is null");
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Test(&requests[0], &flag, &status));
  EXPECT(flag == 0, "it is complete");
  EXPECT(failed_count(world) == 1 && acknowledged_count(world) == 0, "%d failed, %d acknowledged",
         failed_count(world), acknowledged_count(world));
  MUST_FAIL(MPIX_ERR_PROC_FAILED,
            MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &status));
  MUST_FAIL(MPIX_ERR_PROC_FAILED, MPI_Probe(MPI_ANY_SOURCE, TAG, world, &status));
  MUST_FAIL(MPIX_ERR_PROC_FAILED, MPI_Iprobe(MPI_ANY_SOURCE, TAG, world, &flag, &status));
  MUST_FAIL(MPIX_ERR_PROC_FAILED, MPI_Mprobe(MPI_ANY_SOURCE, TAG, world, &message, &status));
  MUST_FAIL(MPIX_ERR_PROC_FAILED, MPI_Sendrecv(&other, 1, MPI_INT, MPI_PROC_NULL, TAG, &other, 1,
                                               MPI_INT, MPI_ANY_SOURCE, TAG, world, &status));
  /* In an array with a receive that completes later. */
  MUST(MPI_Irecv(&other, 1, MPI_INT, 2, TAG + 1, world, &requests[1]));
  requests[2] = MPI_REQUEST_NULL;
  MUST_FAIL(MPI_ERR_IN_STATUS, MPI_Waitall(3, requests, statuses));
  EXPECT(statuses[0].MPI_ERROR == MPIX_ERR_PROC_FAILED_PENDING &&
             statuses[1].MPI_ERROR == MPI_ERR_PENDING,
         "%d and %d", statuses[0].MPI_ERROR, statuses[1].MPI_ERROR);
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Testall(3, requests, &flag, statuses));
  EXPECT(flag == 0, "all are complete");
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Waitany(2, requests, &index, &status));
  EXPECT(index == 0, "%d", index);
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Testany(2, requests, &index, &flag, &status));
  EXPECT(index == 0 && flag == 0, "%d", index);
  MUST_FAIL(MPI_ERR_IN_STATUS, MPI_Waitsome(2, requests, &count, indices, statuses));
  EXPECT(count == 1 && indices[0] == 0 && statuses[0].MPI_ERROR == MPIX_ERR_PROC_FAILED_PENDING,
         "%d requests", count);
  EXPECT(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request is null");
  MUST(MPI_Cancel(&requests[1]));
  MUST(MPI_Wait(&requests[1], &status));
  MUST(MPIX_Comm_ack_failed(world, 0, &acknowledged));
  EXPECT(acknowledged == 0, "%d", acknowledged);
  MUST_FAIL(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&requests[0], &status));
  MUST(MPIX_Comm_ack_failed(world, 5, &acknowledged));
  EXPECT(acknowledged == 1 && acknowledged_count(world) == 1, "%d", acknowledged);
  MUST(MPI_Test(&requests[0], &flag, &status));
  EXPECT(flag == 0, "it is complete");
  MUST(MPI_Send(&value, 1, MPI_INT, 2, TAG, world));
  MUST(MPI_Wait(&requests[0], &status));
  EXPECT(value == 40 && status.MPI_SOURCE == 2 && requests[0] == MPI_REQUEST_NULL, "%d of %d",
         value, status.MPI_SOURCE);
  MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &status));
  EXPECT(value == 41, "%d", value);
  MUST(MPI_Probe(MPI_ANY_SOURCE, TAG, world, &status));
  MUST(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &status));
  MUST(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, world, &requests[0]));
  MUST(MPI_Start(&requests[0]));
  MUST(MPI_Wait(&requests[0], &status));
  EXPECT(value == 43, "%d", value);
  MUST(MPI_Request_free(&requests[0]));
}

/* No process dies. Rank 0 revokes after the others wait for messages that are never sent. */
static void revoked(void) {
  static int from[ITEMS], to[ITEMS];
  MPI_Request requests[2];
  MPI_Comm copy, shrunk;
  int value = 0, flag = 0, members, same;
  MUST(MPI_Comm_dup(world, &copy));
  MUST(MPIX_Comm_is_revoked(copy, &flag));
  EXPECT(!flag, "revoked");
  if (rank == 0) {
    for (int other = 1; other < size; ++other)
      MUST(MPI_Recv(&value, 1, MPI_INT, other, TAG, world, MPI_STATUS_IGNORE));
    MUST(MPIX_Comm_revoke(copy));
    MUST(MPIX_Comm_revoke(copy));
  } else {
    MUST(MPI_Isend(from, ITEMS, MPI_INT, (rank + 1) % size, TAG, copy, &requests[0]));
    MUST(MPI_Irecv(to, ITEMS, MPI_INT, MPI_ANY_SOURCE, TAG + 1, copy, &requests[1]));
    MUST(MPI_Send(&value, 1, MPI_INT, 0, TAG, world));
    MUST_FAIL(MPIX_ERR_REVOKED, MPI_Recv(to, ITEMS, MPI_INT, 0, TAG + 2, copy, MPI_STATUS_IGNORE));
    MUST_FAIL(MPIX_ERR_REVOKED, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    MUST_FAIL(MPIX_ERR_REVOKED, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  }
  MUST(MPIX_Comm_is_revoked(copy, &flag));
  EXPECT(flag, "not revoked");
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, TAG, copy));
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Ssend(&value, 1, MPI_INT, (rank + 1) % size, TAG, copy));
  MUST_FAIL(MPIX_ERR_REVOKED,
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, copy, MPI_STATUS_IGNORE));
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Iprobe(MPI_ANY_SOURCE, TAG, copy, &flag, MPI_STATUS_IGNORE));
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Barrier(copy));
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Comm_dup(copy, &shrunk));
  MUST_FAIL(MPIX_ERR_REVOKED, MPI_Comm_split(copy, 0, rank, &shrunk));
  flag = rank == 1 ? 6 : 7;
  MUST(MPIX_Comm_agree(copy, &flag));
  EXPECT(flag == 6, "%d", flag);
  MUST(MPIX_Comm_shrink(copy, &shrunk));
  MUST(MPI_Comm_size(shrunk, &members));
  MUST(MPI_Comm_compare(world, shrunk, &same));
  EXPECT(members == size && same == MPI_CONGRUENT, "%d members", members);
  check_sum(shrunk);
  check_sum(world);
  MUST(MPI_Comm_free(&shrunk));
  MUST(MPI_Comm_free(&copy));
  EXPECT(failed_count(world) == 0, "%d have failed", failed_count(world));
}

/* In most runs, the thread calls after the other call waits; the result is the same in all runs. */
static void revoke_and_free(MPI_Comm* comm) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
  nanosleep(&pause, NULL);
  MUST(MPIX_Comm_revoke(*comm));
  MUST(MPI_Comm_free(comm));
}

/* The last rank revokes a communicator and frees it at once, while the others are in a call on it
 * that waits for the last rank. */
static void freed(void) {
  static int from[ITEMS], to[ITEMS];
  enum { SEND, SENDRECV, SSEND, EXSCAN, CREATE_GROUP, CREATE_INTER, CALLS };
  const int last = size - 1;
  MPI_Comm self = comm_of(session, "test.freed", 1, &rank);
  for (int call = 0; call < CALLS; ++call) {
    MPI_Comm copy, made;
    MPI_Group group;
    MUST(MPI_Comm_dup(world, &copy));
    MUST(MPI_Comm_group(copy, &group));
    MUST(MPI_Barrier(world));
    if (rank == last) {
      revoke_and_free(&copy);
    } else {
      int code = MPI_SUCCESS;
      if (call == SEND) code = MPI_Send(from, ITEMS, MPI_INT, last, TAG, copy);
      if (call == SENDRECV)
        code = MPI_Sendrecv(from, ITEMS, MPI_INT, last, TAG, to, ITEMS, MPI_INT, last, TAG, copy,
                            MPI_STATUS_IGNORE);
      if (call == SSEND) code = MPI_Ssend(from, 1, MPI_INT, last, TAG, copy);
      if (call == EXSCAN) code = MPI_Exscan(from, to, ITEMS, MPI_INT, MPI_SUM, copy);
      if (call == CREATE_GROUP) code = MPI_Comm_create_group(copy, group, TAG, &made);
      if (call == CREATE_INTER) code = MPI_Intercomm_create(self, 0, copy, last, TAG + rank, &made);
      /* Members below the last rank have their part of the scan without it. */
      EXPECT(class_of(code) == MPIX_ERR_REVOKED || (call == EXSCAN && code == MPI_SUCCESS),
             "call %d: class %d", call, class_of(code));
      MUST(MPI_Comm_free(&copy));
    }
    MUST(MPI_Group_free(&group));
    check_sum(world);
  }
  MUST(MPI_Comm_free(&self));
}

static void* die_later(void* microseconds) {
  const long wanted = *(long*)microseconds;
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = wanted * 1000};
  nanosleep(&pause, NULL);
  die_under(launcher);
  return NULL;
}

/* Die after a time, whatever the process does then. */
static void die_after(long microseconds) {
  static long wanted;
  pthread_t thread;
  wanted = microseconds;
  EXPECT(pthread_create(&thread, NULL, die_later, &wanted) == 0, "no thread");
}

/* Ranks 0 and 2 die, at times that differ from run to run. */
static int dies(void) { return rank == 0 || rank == 2; }
static long moment(void) { return 500 + (long)((unsigned)getpid() * 7919u % 20000u); }

static MPI_Comm shrunk_of(MPI_Comm comm) {
  MPI_Comm shrunk;
  MUST(MPIX_Comm_shrink(comm, &shrunk));
  MUST(MPI_Comm_set_errhandler(shrunk, MPI_ERRORS_RETURN));
  return shrunk;
}

/* Shrink until only the survivors are left; the victims call it, too, and die in it. */
static MPI_Comm survivors_of(MPI_Comm comm, int survivors) {
  MPI_Comm shrunk = shrunk_of(comm);
  int members;
  for (;;) {
    MUST(MPI_Comm_size(shrunk, &members));
    EXPECT(members >= survivors, "%d members", members);
    if (members <= survivors) return shrunk;
    MPI_Comm smaller = shrunk_of(shrunk);
    MUST(MPI_Comm_free(&shrunk));
    shrunk = smaller;
  }
}

static int flag_for(int number) { return ~(1 << (rank % 16)) | number << 16; }

static void record_agreement(int code, int* noted) {
  EXPECT(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED, "class %d", class_of(code));
  *noted = class_of(code);
}

/* Agree with this number of outstanding non-blocking calls, completed in reverse order; 0: with
 * blocking calls. */
static void agreement(int outstanding) {
  int flags[AGREEMENTS], codes[AGREEMENTS], lowest[AGREEMENTS], highest[AGREEMENTS];
  MPI_Request requests[AGREEMENTS];
  if (dies()) die_after(moment());
  for (int i = 0; i < AGREEMENTS; ++i) {
    flags[i] = flag_for(i);
    if (outstanding == 0) {
      record_agreement(MPIX_Comm_agree(world, &flags[i]), &codes[i]);
      continue;
    }
    MUST(MPIX_Comm_iagree(world, &flags[i], &requests[i]));
    if ((i + 1) % outstanding != 0) continue;
    for (int last = i; last > i - outstanding; --last)
      record_agreement(MPI_Wait(&requests[last], MPI_STATUS_IGNORE), &codes[last]);
  }
  MPI_Comm survivors = survivors_of(world, size - 2);
  int(*const results[])[AGREEMENTS] = {&flags, &codes};
  for (int which = 0; which < 2; ++which) {
    MUST(MPI_Allreduce(*results[which], lowest, AGREEMENTS, MPI_INT, MPI_MIN, survivors));
    MUST(MPI_Allreduce(*results[which], highest, AGREEMENTS, MPI_INT, MPI_MAX, survivors));
    for (int i = 0; i < AGREEMENTS; ++i)
      EXPECT(lowest[i] == highest[i], "agreement %d: %x and %x", i, (unsigned)lowest[i],
             (unsigned)highest[i]);
  }
  /* All survivors take part in all agreements. */
  for (int other = 0; other < size; ++other)
    if (other != 0 && other != 2)
      EXPECT((flags[AGREEMENTS - 1] & 1 << other) == 0, "rank %d is missing", other);
  EXPECT(failed_count(world) == 2, "%d have failed", failed_count(world));
  MUST(MPIX_Comm_failure_ack(world));
  int flag = 1;
  MUST(MPIX_Comm_agree(world, &flag));
  EXPECT(flag == 1 && acknowledged_count(world) == 2, "%d", flag);
  MUST(MPI_Comm_free(&survivors));
}

static void shrinking(int is_later) {
  MPI_Comm last = MPI_COMM_NULL;
  int members = size;
  if (dies()) die_after(moment());
  for (int i = 0; i < 100 || members > size - 2 || dies(); ++i) {
    MPI_Comm shrunk;
    MPI_Comm from = last == MPI_COMM_NULL ? world : last;
    if (is_later) {
      MPI_Request request;
      MUST(MPIX_Comm_ishrink(from, &shrunk, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      MUST(MPIX_Comm_shrink(from, &shrunk));
    }
    MUST(MPI_Comm_size(shrunk, &members));
    int one = 1, sum = 0;
    const int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk);
    EXPECT(code == MPI_SUCCESS ? sum == members : is_death_class(class_of(code)),
           "%d of %d, class %d", sum, members, class_of(code));
    if (last != MPI_COMM_NULL) MUST(MPI_Comm_free(&last));
    last = shrunk;
  }
  check_sum(last);
  MUST(MPI_Comm_free(&last));
}

/* Ranks below 3 are one group, the others the other group. Rank 1 dies. */
static void inter(void) {
  MPI_Comm half, both, shrunk;
  int flag, members, others;
  MUST(MPI_Comm_split(world, rank < 3, rank, &half));
  MUST(MPI_Intercomm_create(half, 0, world, rank < 3 ? 3 : 0, TAG, &both));
  MUST(MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN));
  if (rank == 1) die_under(launcher);
  flag = rank < 3 ? 5 : 3;
  EXPECT(class_of(MPIX_Comm_agree(both, &flag)) == MPIX_ERR_PROC_FAILED, "no failure");
  EXPECT(flag == (rank < 3 ? 3 : 5), "%d", flag);
  EXPECT(failed_count(both) == 1, "%d have failed", failed_count(both));
  if (rank == 0) MUST(MPIX_Comm_revoke(both));
  flag = 0;
  while (!flag) MUST(MPIX_Comm_is_revoked(both, &flag));
  MUST(MPIX_Comm_shrink(both, &shrunk));
  MUST(MPI_Comm_size(shrunk, &members));
  MUST(MPI_Comm_remote_size(shrunk, &others));
  EXPECT(members == (rank < 3 ? 2 : size - 3) && others == (rank < 3 ? size - 3 : 2), "%d and %d",
         members, others);
  MUST(MPI_Barrier(shrunk));
  MUST(MPI_Comm_free(&shrunk));
  MUST(MPI_Comm_free(&both));
  MUST(MPI_Comm_free(&half));
}

/* Functions that the native library has are its own. MPICH 4.0's end the job, so they are not
 * called. */
static void world_model(void) {
  MPI_Group group = MPI_GROUP_NULL;
  int flag = 1;
  MPI_Init(NULL, NULL);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#ifdef OPEN_MPI
  if (OMPI_MAJOR_VERSION < 5)
    MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
  if (OMPI_MAJOR_VERSION < 5)
    MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
#else
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
#endif
  EXPECT(flag == 1 && group == MPI_GROUP_NULL, "%d", flag);
  MPI_Finalize();
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  launcher = argv[1];
  open_world("test.survivor_tools");
  if (strcmp(argv[2], "pending") == 0)
    pending(1);
  else if (strcmp(argv[2], "pending_elsewhere") == 0)
    pending(size - 1);
  else if (strcmp(argv[2], "revoked") == 0)
    revoked();
  else if (strcmp(argv[2], "agreement") == 0)
    agreement(0);
  else if (strcmp(argv[2], "shrinking") == 0)
    shrinking(0);
  else if (strcmp(argv[2], "later") == 0)
    agreement(1);
  else if (strcmp(argv[2], "many") == 0)
    agreement(100);
  else if (strcmp(argv[2], "freed") == 0)
    freed();
  else if (strcmp(argv[2], "shrinking_later") == 0)
    shrinking(1);
  else if (strcmp(argv[2], "inter") == 0)
    inter();
  else if (strcmp(argv[2], "world") == 0)
    world_model();
  else
    return 2;
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
