/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests shared memory that is full when the communicators of a second thread would get their own
 * VCI.
 *
 * They share the first VCI, whichever process leads the creation, also if there is space for the
 * header of the VCI but not for its messages. When there is space again, the next communicator gets
 * the VCI. A process that re-initialises without space continues without VCIs that no process has
 * used. */
#include <pthread.h>

#include "shared_memory.h"

enum { LONG = 300000, RING = 65536, BEGINNING = 32768 };

static long used_before;

typedef void (*Work)(void);

static void* run(void* work) {
  (*(Work*)work)();
  return NULL;
}

/* Run in another thread while the calling thread waits, so that the two have different identities.
 */
static void in_another_thread(Work work) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, run, &work) == 0, "no thread");
  pthread_join(thread, NULL);
}

/* Return when all processes have called this function and rank 0 has called `then`. */
static void meet(Work then) {
  MUST(MPI_Barrier(world));
  if (rank == 0) then();
  MUST(MPI_Barrier(world));
}

/* Exchange short and long messages between all pairs, and run collectives. */
static void talk(MPI_Comm comm) {
  int own, got, sum = -1;
  char *out = calloc(LONG, 1), *in = malloc(LONG);
  MUST(MPI_Comm_rank(comm, &own));
  for (int step = 1; step < size; ++step) {
    const int next = (own + step) % size, last = (own + size - step) % size;
    got = -1;
    MUST(MPI_Sendrecv(&own, 1, MPI_INT, next, step, &got, 1, MPI_INT, last, step, comm,
                      MPI_STATUS_IGNORE));
    EXPECT(got == last, "%d from %d", got, last);
    memset(out, own, LONG);
    MUST(MPI_Sendrecv(out, LONG, MPI_BYTE, next, step, in, LONG, MPI_BYTE, last, step, comm,
                      MPI_STATUS_IGNORE));
    EXPECT(in[0] == last && in[LONG - 1] == last, "%d and %d from %d", in[0], in[LONG - 1], last);
  }
  MUST(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
  MUST(MPI_Barrier(comm));
  free(out), free(in);
}

/* Create a communicator of all processes, led by process `leader`. */
static MPI_Comm make(MPI_Session of, const char* tag, int leader) {
  int* order = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) order[i] = (leader + i) % size;
  MPI_Comm made = comm_of(of, tag, size, order);
  free(order);
  return made;
}

static void talk_in_new(MPI_Session of, const char* tag, int leader) {
  MPI_Comm made = make(of, tag, leader);
  talk(made);
  MUST(MPI_Comm_free(&made));
}

/* Communicate with each process as leader while shared memory is as full as `fill_it` makes it;
 * then free it again. */
static void talk_when_full(MPI_Session of, Work fill_it, const char* tag) {
  meet(fill_it);
  for (int leader = 0; leader < size; ++leader) talk_in_new(of, tag, leader);
  meet(make_room);
}

static void fill_but_a_beginning(void) { fill_but(BEGINNING); }
static void record_used_memory(void) { used_before = used_memory(); }
static void see_rings(void) {
  const long grown = used_memory() - used_before, pairs = (long)size * (size - 1);
  EXPECT(grown >= pairs * RING, "grown by %ld", grown);
}

static void with_room_for_a_beginning(void) {
  MPI_Session own;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  talk_when_full(own, fill_but_a_beginning, "test.beginning");
  meet(record_used_memory);
  talk_in_new(own, "test.roomy", size - 1);
  meet(see_rings);
  MUST(MPI_Session_finalize(&own));
}

static void without_room(void) {
  MPI_Session own;
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &own));
  talk_when_full(own, fill, "test.full");
  in_another_thread(with_room_for_a_beginning);
  MUST(MPI_Session_finalize(&own));
}

/* Re-initialise all processes but rank 0, which keeps the memory. They had used the VCI of the
 * second thread, but not that of the first one. */
static void begin_anew(void) {
  meet(fill);
  MUST(MPI_Comm_free(&world));
  if (rank != 0) MUST(MPI_Session_finalize(&session));
  if (rank != 0) MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  world = make(session, "test.anew", 0);
  talk(world);
  meet(make_room);
}

int main(void) {
  open_world("test.full_at_vci");
  talk(world); /* from now on, the memory for this communicator exists */
  in_another_thread(without_room);
  begin_anew();
  return close_world();
}
