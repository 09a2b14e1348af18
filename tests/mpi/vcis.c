/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests two threads of each process, each with its own session: messages, collectives and
 * sub-communicators at the same time, in separate VCIs if the node has them; then one thread with
 * requests of both VCIs. */
#include <pthread.h>

#include "session_world.h"

enum { THREADS = 2, ROUNDS = 50, COUNT = 6, LONG = 100000 };

typedef struct {
  MPI_Session session;
  MPI_Comm comm;
  int number;
  pthread_barrier_t* meeting;
} Vci;

static int next_rank(void) { return (rank + 1) % size; }
static int last_rank(void) { return (rank + size - 1) % size; }

static int value_of(int vci, int round, int of_rank, int at) {
  return vci * 1000003 + round * 1009 + of_rank * 31 + at;
}

static void open_vci(Vci* vci) {
  MPI_Group group;
  char tag[32];
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &vci->session));
  MUST(MPI_Group_from_session_pset(vci->session, "mpi://WORLD", &group));
  snprintf(tag, sizeof tag, "test.vci.%d", vci->number);
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &vci->comm));
  MUST(MPI_Group_free(&group));
}

static void ping_pong(const Vci* vci, int round) {
  int sent = value_of(vci->number, round, rank, 0), got = -1, partner = rank ^ 1;
  if (partner >= size) return;
  if (rank < partner) MUST(MPI_Send(&sent, 1, MPI_INT, partner, round, vci->comm));
  MUST(MPI_Recv(&got, 1, MPI_INT, partner, round, vci->comm, MPI_STATUS_IGNORE));
  if (rank > partner) MUST(MPI_Send(&sent, 1, MPI_INT, partner, round, vci->comm));
  EXPECT(got == value_of(vci->number, round, partner, 0), "VCI %d, round %d: %d", vci->number,
         round, got);
}

static void long_ring(const Vci* vci, int round) {
  int *out = malloc(LONG * sizeof(int)), *in = malloc(LONG * sizeof(int));
  for (int i = 0; i < LONG; ++i) out[i] = value_of(vci->number, round, rank, i), in[i] = -1;
  MUST(MPI_Sendrecv(out, LONG, MPI_INT, next_rank(), 1, in, LONG, MPI_INT, last_rank(), 1,
                    vci->comm, MPI_STATUS_IGNORE));
  for (int i = 0; i < LONG; ++i) {
    if (in[i] == value_of(vci->number, round, last_rank(), i)) continue;
    EXPECT(0, "VCI %d, round %d: item %d is %d", vci->number, round, i, in[i]);
    break;
  }
  free(out), free(in);
}

static void collectives(MPI_Comm comm, int salt) {
  int own, members, sum = -1, word, root;
  MUST(MPI_Comm_rank(comm, &own));
  MUST(MPI_Comm_size(comm, &members));
  int mine = own + salt, *all = malloc(sizeof(int) * (size_t)members);
  MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == members * (members - 1) / 2 + members * salt, "sum %d", sum);
  MUST(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm));
  for (int i = 0; i < members; ++i) EXPECT(all[i] == i + salt, "of %d: %d", i, all[i]);
  root = salt % members;
  word = own == root ? salt * 7 : -1;
  MUST(MPI_Bcast(&word, 1, MPI_INT, root, comm));
  EXPECT(word == salt * 7, "word %d", word);
  MPI_Request request;
  MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, comm, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(sum == members - 1 + salt, "largest %d", sum);
  MUST(MPI_Barrier(comm));
  free(all);
}

static void with_parts(const Vci* vci, int round) {
  MPI_Comm copy, half, line, group_comm;
  MPI_Group group;
  const int periods = 1;
  MUST(MPI_Comm_dup(vci->comm, &copy));
  MUST(MPI_Comm_split(vci->comm, rank % 2, -rank, &half));
  MUST(MPI_Cart_create(vci->comm, 1, &size, &periods, 0, &line));
  MUST(MPI_Comm_group(vci->comm, &group));
  MUST(MPI_Comm_create_group(vci->comm, group, round, &group_comm));
  MUST(MPI_Group_free(&group));
  MPI_Comm parts[] = {copy, half, line, group_comm};
  for (int i = 0; i < 4; ++i) collectives(parts[i], round + i);
  for (int i = 0; i < 4; ++i) MUST(MPI_Comm_free(&parts[i]));
}

static void* run_vci(void* state) {
  Vci* vci = state;
  open_vci(vci);
  pthread_barrier_wait(vci->meeting);
  for (int round = 0; round < ROUNDS; ++round) {
    ping_pong(vci, round);
    collectives(vci->comm, round);
    if (round % 5 == 0) long_ring(vci, round), with_parts(vci, round);
  }
  return NULL;
}

static void run_threads(Vci* vcis) {
  pthread_t threads[THREADS];
  pthread_barrier_t meeting;
  pthread_barrier_init(&meeting, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) vcis[i] = (Vci){.number = i, .meeting = &meeting};
  for (int i = 0; i < THREADS; ++i)
    EXPECT(pthread_create(&threads[i], NULL, run_vci, &vcis[i]) == 0, "thread %d", i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&meeting);
}

/* Complete all requests with one of the completion functions, by `form`. */
static void complete(int form, MPI_Request* requests, int count) {
  int indices[2 * COUNT], flag = 0, n;
  if (form == 0) MUST(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  if (form == 1)
    while (!flag) MUST(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
  for (int left = count; form > 1 && left > 0; left -= n) {
    n = 0;
    if (form == 2) MUST(MPI_Waitany(count, requests, &n, MPI_STATUS_IGNORE));
    if (form == 2) n = 1;
    if (form == 3) MUST(MPI_Testany(count, requests, indices, &n, MPI_STATUS_IGNORE));
    if (form == 4) MUST(MPI_Waitsome(count, requests, &n, indices, MPI_STATUSES_IGNORE));
    if (form == 5) MUST(MPI_Testsome(count, requests, &n, indices, MPI_STATUSES_IGNORE));
  }
  for (int i = 0; i < count; ++i)
    EXPECT(requests[i] == MPI_REQUEST_NULL, "form %d: request %d is not null", form, i);
}

/* Requests of both VCIs in one array, some of long messages. */
static void mixed(const Vci* vcis, int form) {
  enum { ITEMS = 20000 };
  static int out[COUNT][ITEMS], in[COUNT][ITEMS];
  MPI_Request requests[2 * COUNT];
  for (int i = 0; i < COUNT; ++i) {
    const MPI_Comm comm = vcis[(i + form) % THREADS].comm;
    const int items = i % 3 == 0 ? ITEMS : 1;
    for (int at = 0; at < items; ++at) out[i][at] = value_of(i, form, rank, at), in[i][at] = -1;
    MUST(MPI_Irecv(in[i], items, MPI_INT, last_rank(), i, comm, &requests[2 * i]));
    MUST(MPI_Isend(out[i], items, MPI_INT, next_rank(), i, comm, &requests[2 * i + 1]));
  }
  complete(form, requests, 2 * COUNT);
  for (int i = 0; i < COUNT; ++i)
    for (int at = 0; at < (i % 3 == 0 ? ITEMS : 1); at += 999)
      EXPECT(in[i][at] == value_of(i, form, last_rank(), at), "form %d, message %d: %d", form, i,
             in[i][at]);
}

/* Each process waits for a short message in one VCI; its neighbour sends it after it has received a
 * long message in the other VCI. */
static void long_in_the_other(const Vci* awaited, const Vci* other) {
  int *out = calloc(LONG, sizeof(int)), *in = malloc(LONG * sizeof(int)), word = rank, got = -1;
  MPI_Request send, receive;
  MUST(MPI_Isend(out, LONG, MPI_INT, next_rank(), 9, other->comm, &send));
  MUST(MPI_Irecv(in, LONG, MPI_INT, last_rank(), 9, other->comm, &receive));
  MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  MUST(MPI_Send(&word, 1, MPI_INT, last_rank(), 9,
                awaited->comm)); /* the long message has arrived */
  MUST(MPI_Recv(&got, 1, MPI_INT, next_rank(), 9, awaited->comm, MPI_STATUS_IGNORE));
  EXPECT(got == next_rank(), "word of %d", got);
  MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  free(out), free(in);
}

static void close_vci(Vci* vci) {
  MUST(MPI_Comm_free(&vci->comm));
  MUST(MPI_Session_finalize(&vci->session));
}

int main(void) {
  Vci vcis[THREADS];
  open_world("test.vcis");
  run_threads(vcis);
  for (int form = 0; form < 6; ++form) mixed(vcis, form);
  for (int round = 0; round < 10; ++round)
    long_in_the_other(&vcis[round % 2], &vcis[1 - round % 2]);
  for (int i = 0; i < THREADS; ++i) close_vci(&vcis[i]);
  return close_world();
}
