/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes die, one after the other, while a thread of rank 0 waits for each of them in its lane, which is not the first, in another way:
 * every wait ends with an error that says so. A receive from any source goes on for who lives, and so does the thread that waits in the first
 * lane.
 *
 *   lane_deaths LAUNCHER     (death.h)
 */
#include <pthread.h>

#include "death.h"
#include "shared_memory.h"

enum { RECEIVE = 1, PROBE, AT_BOARD, BY_MESSAGES, IN_BOTH_LANES, SURVIVOR, PROCESSES }; /* how rank 0 waits for that process; but for the last */
enum { GO, NEVER, GATHER, END };                                                     /* tags */
enum { RING = 65536, ROUNDS = 10 };                                                  /* enough collectives for a board */

static const char *launcher;
static MPI_Session own;         /* the second thread's */
static MPI_Comm lane, with_board, without_board;

static void talk(MPI_Comm comm) {
  int in[PROCESSES], out[PROCESSES] = {0};
  MUST(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
}

/* The first lane has all rings by now; one of its own needs them again. */
static void open_lane(void) {
  const int all[PROCESSES] = {0, 1, 2, 3, 4, 5, 6}, at_board[] = {0, AT_BOARD, SURVIVOR}, by_messages[] = {0, BY_MESSAGES, SURVIVOR};
  const long before = used_memory();
  MUST(MPI_Barrier(world));
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  lane = comm_of(own, "test.lane", PROCESSES, all);
  talk(lane);
  const long grown = used_memory() - before;
  EXPECT(grown >= RING, "grown by %ld", grown);
  if (rank == 0 || rank == AT_BOARD || rank == SURVIVOR) with_board = comm_of(own, "test.board", 3, at_board);
  if (rank == 0 || rank == BY_MESSAGES || rank == SURVIVOR) without_board = comm_of(own, "test.messages", 3, by_messages);
  for (int i = 0; with_board != MPI_COMM_NULL && i < ROUNDS; ++i) MUST(MPI_Barrier(with_board));
}

static void expect_told(int of, int code) {
  int class = MPI_SUCCESS, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("of %d rank %d was told: %s\n", of, rank, text);
  EXPECT(class == MPI_ERR_PROC_ABORTED, "class %d", class);
}

static int wait_for(int process) {
  int nothing = 0, index = -1, code;
  MPI_Message message;
  MPI_Request requests[2];
  switch (process) {
    case RECEIVE: return MPI_Recv(&nothing, 1, MPI_INT, process, NEVER, lane, MPI_STATUS_IGNORE);
    case PROBE: return MPI_Mprobe(process, NEVER, lane, &message, MPI_STATUS_IGNORE);
    case AT_BOARD: return MPI_Barrier(with_board);
    case BY_MESSAGES: return MPI_Barrier(without_board);
    default:
      MUST(MPI_Irecv(&nothing, 1, MPI_INT, SURVIVOR, GO, world, &requests[0]));
      MUST(MPI_Irecv(&nothing, 1, MPI_INT, process, NEVER, lane, &requests[1]));
      code = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      EXPECT(index == 1, "request %d", index);
      MUST(MPI_Send(&nothing, 1, MPI_INT, SURVIVOR, GO, lane)); /* now it may send the other one */
      MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      return code;
  }
}

static void lose_all(void) {
  int heard = -1;
  MPI_Request any;
  MUST(MPI_Irecv(&heard, 1, MPI_INT, MPI_ANY_SOURCE, GATHER, lane, &any));
  for (int process = RECEIVE; process < SURVIVOR; ++process) {
    MUST(MPI_Send(&process, 1, MPI_INT, process, GO, lane));
    expect_told(process, wait_for(process));
  }
  MUST(MPI_Send(&rank, 1, MPI_INT, SURVIVOR, GO, lane));
  MUST(MPI_Wait(&any, MPI_STATUS_IGNORE));
  EXPECT(heard == SURVIVOR, "heard %d", heard);
}

/* It is in the two collectives that others do not come to. */
static void survive(void) {
  int go;
  expect_told(AT_BOARD, MPI_Barrier(with_board));
  expect_told(BY_MESSAGES, MPI_Barrier(without_board));
  MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, lane, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&go, 1, MPI_INT, 0, GO, world));
  MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, lane, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&rank, 1, MPI_INT, 0, GATHER, lane));
  MUST(MPI_Send(&rank, 1, MPI_INT, 0, END, world));
}

static void *run_lane(void *unused) {
  int go;
  open_lane();
  if (rank == 0) lose_all();
  if (rank == SURVIVOR) survive();
  if (rank != 0 && rank != SURVIVOR) {
    MUST(MPI_Recv(&go, 1, MPI_INT, 0, GO, lane, MPI_STATUS_IGNORE));
    die_under(launcher);
  }
  MUST(MPI_Comm_free(&with_board));
  MUST(MPI_Comm_free(&without_board));
  MUST(MPI_Comm_free(&lane));
  MUST(MPI_Session_finalize(&own));
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  launcher = argv[1];
  open_world("test.lane_deaths");
  EXPECT(size == PROCESSES, "%d processes", size);
  talk(world);
  with_board = without_board = MPI_COMM_NULL;
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, run_lane, NULL) == 0, "no thread");
  int survivor = -1;
  if (rank == 0) MUST(MPI_Recv(&survivor, 1, MPI_INT, SURVIVOR, END, world, MPI_STATUS_IGNORE));
  EXPECT(rank != 0 || survivor == SURVIVOR, "from %d", survivor);
  pthread_join(thread, NULL);
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  return verdict();
}
