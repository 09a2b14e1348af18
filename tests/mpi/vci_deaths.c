/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests processes that die, one after the other, while a thread of rank 0 waits for each in its
 * VCI, which is not the first, in another way: each wait ends with an error that names the process.
 * A receive from any source and the thread that waits in the first VCI are not affected.
 *
 *   vci_deaths LAUNCHER     (death.h) */
#include <pthread.h>

#include "death.h"
#include "shared_memory.h"

enum {
  RECEIVE = 1,
  PROBE,
  IN_SEGMENT,
  BY_MESSAGES,
  IN_BOTH_VCIS,
  SURVIVOR,
  PROCESSES
}; /* how rank 0 waits for the process with this rank; PROCESSES: number of processes */
enum { GO, NEVER, GATHER, END };    /* tags */
enum { RING = 65536, ROUNDS = 10 }; /* enough collectives for a collective segment */

static const char* launcher;
static MPI_Session own; /* session of the second thread */
static MPI_Comm vci, with_segment, without_segment;

static void talk(MPI_Comm comm) {
  int in[PROCESSES], out[PROCESSES] = {0};
  MUST(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
}

/* Open a session in the second thread. The first VCI has all rings; a second VCI allocates them
 * again. */
static void open_vci(void) {
  const int all[PROCESSES] = {0, 1, 2, 3, 4, 5, 6}, in_segment[] = {0, IN_SEGMENT, SURVIVOR},
            by_messages[] = {0, BY_MESSAGES, SURVIVOR};
  const long before = used_memory();
  MUST(MPI_Barrier(world));
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  vci = comm_of(own, "test.vci", PROCESSES, all);
  talk(vci);
  const long grown = used_memory() - before;
  EXPECT(grown >= RING, "grown by %ld", grown);
  if (rank == 0 || rank == IN_SEGMENT || rank == SURVIVOR)
    with_segment = comm_of(own, "test.segment", 3, in_segment);
  if (rank == 0 || rank == BY_MESSAGES || rank == SURVIVOR)
    without_segment = comm_of(own, "test.messages", 3, by_messages);
  for (int i = 0; with_segment != MPI_COMM_NULL && i < ROUNDS; ++i) MUST(MPI_Barrier(with_segment));
}

static void expect_aborted(int victim, int code) {
  int class = MPI_SUCCESS, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d: error text about process %d: %s\n", rank, victim, text);
  EXPECT(class == MPI_ERR_PROC_ABORTED, "class %d", class);
}

static int wait_for(int process) {
  int nothing = 0, index = -1, code;
  MPI_Message message;
  MPI_Request requests[2];
  switch (process) {
    case RECEIVE:
      return MPI_Recv(&nothing, 1, MPI_INT, process, NEVER, vci, MPI_STATUS_IGNORE);
    case PROBE:
      return MPI_Mprobe(process, NEVER, vci, &message, MPI_STATUS_IGNORE);
    case IN_SEGMENT:
      return MPI_Barrier(with_segment);
    case BY_MESSAGES:
      return MPI_Barrier(without_segment);
    default:
      MUST(MPI_Irecv(&nothing, 1, MPI_INT, SURVIVOR, GO, world, &requests[0]));
      MUST(MPI_Irecv(&nothing, 1, MPI_INT, process, NEVER, vci, &requests[1]));
      code = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      EXPECT(index == 1, "request %d", index);
      MUST(MPI_Send(&nothing, 1, MPI_INT, SURVIVOR, GO,
                    vci)); /* now it may send the other message */
      MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      return code;
  }
}

static void survive_victims(void) {
  int sender = -1;
  MPI_Request any;
  MUST(MPI_Irecv(&sender, 1, MPI_INT, MPI_ANY_SOURCE, GATHER, vci, &any));
  for (int process = RECEIVE; process < SURVIVOR; ++process) {
    MUST(MPI_Send(&process, 1, MPI_INT, process, GO, vci));
    expect_aborted(process, wait_for(process));
  }
  MUST(MPIX_Comm_failure_ack(vci));
  MUST(MPI_Send(&rank, 1, MPI_INT, SURVIVOR, GO, vci));
  MUST(MPI_Wait(&any, MPI_STATUS_IGNORE));
  EXPECT(sender == SURVIVOR, "received from %d", sender);
}

/* Take part in the two collectives that the victims do not call. */
static void survive(void) {
  int go;
  expect_aborted(IN_SEGMENT, MPI_Barrier(with_segment));
  expect_aborted(BY_MESSAGES, MPI_Barrier(without_segment));
  MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, vci, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&go, 1, MPI_INT, 0, GO, world));
  MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, vci, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&rank, 1, MPI_INT, 0, GATHER, vci));
  MUST(MPI_Send(&rank, 1, MPI_INT, 0, END, world));
}

static void* run_vci(void* unused) {
  int go;
  open_vci();
  if (rank == 0) survive_victims();
  if (rank == SURVIVOR) survive();
  if (rank != 0 && rank != SURVIVOR) {
    MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, vci, MPI_STATUS_IGNORE));
    die_under(launcher);
  }
  MUST(MPI_Comm_free(&with_segment));
  MUST(MPI_Comm_free(&without_segment));
  MUST(MPI_Comm_free(&vci));
  MUST(MPI_Session_finalize(&own));
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  launcher = argv[1];
  open_world("test.vci_deaths");
  EXPECT(size == PROCESSES, "%d processes", size);
  talk(world);
  with_segment = without_segment = MPI_COMM_NULL;
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, run_vci, NULL) == 0, "no thread");
  int survivor = -1;
  if (rank == 0) MUST(MPI_Recv(&survivor, 1, MPI_INT, SURVIVOR, END, world, MPI_STATUS_IGNORE));
  EXPECT(rank != 0 || survivor == SURVIVOR, "from %d", survivor);
  pthread_join(thread, NULL);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
