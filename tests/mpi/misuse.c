/* SPDX-License-Identifier: BSD-3-Clause */
/* misuse SCENARIO: tests wrong arguments; each gives its error class, and the process continues. */
#include <stdint.h>

#include "session_world.h"

/* Make errors without a usable object return: their handler is that of MPI_COMM_SELF (MPI-4.1
 * §9.3). */
static void return_errors_without_object(void) {
  MUST(MPI_Init(NULL, NULL));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

/* Check that both models still work. */
static void go_on(void) {
  int sum = 0;
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size * (size - 1) / 2, "sum %d on the session's communicator", sum);
  int initialized, finalized;
  MUST(MPI_Initialized(&initialized));
  MUST(MPI_Finalized(&finalized));
  if (!initialized || finalized) return;
  MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(sum == size * (size - 1) / 2, "sum %d on the world's communicator", sum);
}

static void sessions(void) {
  MPI_Session stale, none = MPI_SESSION_NULL;
  MPI_Info info;
  MPI_Group group;
  int count, length = 0;
  return_errors_without_object();
  open_world("test.misuse.sessions");
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
  MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &stale));
  MPI_Session copy = stale;
  MUST(MPI_Session_finalize(&copy));
  MPI_Session wrong_kind = (MPI_Session)(intptr_t)world;
  MPI_Session* bad[] = {&none, &stale, &wrong_kind};
  for (int i = 0; i < 3; ++i) {
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_get_num_psets(*bad[i], MPI_INFO_NULL, &count));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_get_nth_pset(*bad[i], MPI_INFO_NULL, 0, &length, NULL));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_get_info(*bad[i], &info));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_get_pset_info(*bad[i], "mpi://WORLD", &info));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Group_from_session_pset(*bad[i], "mpi://WORLD", &group));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_set_errhandler(*bad[i], MPI_ERRORS_RETURN));
    MUST_FAIL(MPI_ERR_SESSION, MPI_Session_finalize(bad[i]));
  }
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_finalize(NULL));
}

static void psets(void) {
  MPI_Info info;
  MPI_Group group;
  int count = 0, length = 8;
  char name[8];
  open_world("test.misuse.psets");
  MUST(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, name));
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &length, name));
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, name));
  MUST_FAIL(MPI_ERR_ARG, MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL));
  static const char* const unknown[] = {
      "", "WORLD", "mpi://", "mpi://WORLDS", "mpix://NODE/nowhere", "mpix://APP/77", NULL};
  for (int i = 0; i < 7; ++i) {
    MUST_FAIL(MPI_ERR_ARG, MPI_Group_from_session_pset(session, unknown[i], &group));
    MUST_FAIL(MPI_ERR_ARG, MPI_Session_get_pset_info(session, unknown[i], &info));
  }
  MUST_FAIL(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://WORLD", NULL));
}

static void groups(void) {
  MPI_Group all, stale, derived;
  MPI_Comm comm;
  int outside = size, twice[2] = {0, 0}, range[1][3] = {{0, 3, 0}};
  return_errors_without_object();
  open_world("test.misuse.groups");
  outside = size;
  MUST(MPI_Comm_group(world, &all));
  MUST_FAIL(MPI_ERR_RANK, MPI_Group_incl(all, 1, &outside, &derived));
  MUST_FAIL(MPI_ERR_RANK, MPI_Group_excl(all, 1, &outside, &derived));
  MUST_FAIL(MPI_ERR_RANK, MPI_Group_incl(all, 2, twice, &derived));
  MUST_FAIL(MPI_ERR_ARG, MPI_Group_incl(all, -1, twice, &derived));
  MUST_FAIL(MPI_ERR_ARG, MPI_Group_range_incl(all, 1, range, &derived));
  char too_long[MPI_MAX_STRINGTAG_LEN + 2];
  memset(too_long, 'x', sizeof too_long);
  too_long[sizeof too_long - 1] = 0;
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Comm_create_from_group(all, too_long, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST_FAIL(MPI_ERR_ARG,
            MPI_Comm_create_from_group(all, "test.misuse", MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "test.misuse", MPI_INFO_NULL,
                                                      MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "test.misuse", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                  &comm));
  EXPECT(comm == MPI_COMM_NULL, "a communicator of an empty group");
  stale = all;
  MUST(MPI_Group_free(&all));
  int value;
  MUST_FAIL(MPI_ERR_GROUP, MPI_Group_size(stale, &value));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Group_free(&stale));
  MUST_FAIL(MPI_ERR_GROUP, MPI_Comm_create_from_group(stale, "test.misuse", MPI_INFO_NULL,
                                                      MPI_ERRORS_RETURN, &comm));
}

static void communicators(void) {
  MPI_Comm stale, dup, wrong_kind;
  int value = 0;
  return_errors_without_object();
  open_world("test.misuse.communicators");
  MUST(MPI_Comm_dup(world, &stale));
  MPI_Comm copy = stale;
  MUST(MPI_Comm_free(&copy));
  wrong_kind = (MPI_Comm)(intptr_t)session;
  MPI_Comm bad[] = {MPI_COMM_NULL, stale, wrong_kind};
  for (int i = 0; i < 3; ++i) {
    MUST_FAIL(MPI_ERR_COMM, MPI_Comm_rank(bad[i], &value));
    MUST_FAIL(MPI_ERR_COMM, MPI_Comm_size(bad[i], &value));
    MUST_FAIL(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, bad[i]));
    MUST_FAIL(MPI_ERR_COMM, MPI_Barrier(bad[i]));
    MUST_FAIL(MPI_ERR_COMM, MPI_Comm_dup(bad[i], &dup));
  }
}

static void point_to_point(void) {
  int value = 0;
  MPI_Request request;
  open_world("test.misuse.point_to_point");
  MUST_FAIL(MPI_ERR_COUNT, MPI_Send(&value, -1, MPI_INT, 0, 0, world));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, world));
  MUST_FAIL(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
  MUST_FAIL(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world));
  MUST_FAIL(MPI_ERR_TAG, MPI_Isend(&value, 1, MPI_INT, 0, -7, world, &request));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, world));
  MUST_FAIL(MPI_ERR_COUNT, MPI_Recv(&value, -1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE));
  MUST_FAIL(MPI_ERR_RANK, MPI_Irecv(&value, 1, MPI_INT, size + 5, 0, world, &request));
  MUST_FAIL(MPI_ERR_TAG, MPI_Recv(&value, 1, MPI_INT, 0, -9, world, MPI_STATUS_IGNORE));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Recv(&value, 1, MPI_DATATYPE_NULL, 0, 0, world, MPI_STATUS_IGNORE));
  /* a message longer than the buffer: the receive fails and writes nothing after the buffer */
  int sent[3] = {1, 2, 3}, got[3] = {-1, -1, -1};
  MUST(MPI_Isend(sent, 3, MPI_INT, (rank + 1) % size, 1, world, &request));
  MUST_FAIL(MPI_ERR_TRUNCATE,
            MPI_Recv(got, 2, MPI_INT, (rank + size - 1) % size, 1, world, MPI_STATUS_IGNORE));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(got[2] == -1, "wrote beyond the buffer: %d", got[2]);
}

static void requests(void) {
  int value = 0;
  MPI_Request request, stale;
  return_errors_without_object();
  open_world("test.misuse.requests");
  MUST(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request));
  stale = request;
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(request == MPI_REQUEST_NULL, "the request is not null after MPI_Wait");
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE)); /* a null request is complete */
  MUST(MPI_Irecv(&value, 1, MPI_INT, 0, 5, world, &request));
  stale = request;
  MUST(MPI_Cancel(&request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Wait(&stale, MPI_STATUS_IGNORE));
  MPI_Request wrong_kind = (MPI_Request)(intptr_t)world;
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Wait(&wrong_kind, MPI_STATUS_IGNORE));
}

static void collectives(void) {
  int value = 0, other = 0;
  open_world("test.misuse.collectives");
  MUST_FAIL(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, size, world));
  MUST_FAIL(MPI_ERR_ROOT, MPI_Reduce(&value, &other, 1, MPI_INT, MPI_SUM, -1, world));
  MUST_FAIL(MPI_ERR_COUNT, MPI_Bcast(&value, -1, MPI_INT, 0, world));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Allreduce(&value, &other, 1, MPI_DATATYPE_NULL, MPI_SUM, world));
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_OP_NULL, world));
  double a = 0, b = 0;
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_BAND, world));
  MUST_FAIL(MPI_ERR_COUNT, MPI_Gather(&value, -1, MPI_INT, &other, 1, MPI_INT, 0, world));
}

/* MPI_IN_PLACE for a buffer that does not allow it. */
static void in_place(void) {
  int value = 0, count = 1, place = 0;
  open_world("test.misuse.in_place");
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, world, MPI_STATUS_IGNORE));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Allreduce(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Scan(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Reduce_local(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Alltoall(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, world));
  if (size > 1) return;
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Gather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER, MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, &value, 1, MPI_INT, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER,
            MPI_Gatherv(&value, 1, MPI_INT, MPI_IN_PLACE, &count, &place, MPI_INT, 0, world));
  MUST_FAIL(MPI_ERR_BUFFER,
            MPI_Allgatherv(&value, 1, MPI_INT, MPI_IN_PLACE, &count, &place, MPI_INT, world));
}

/* A call that fails for its arguments has no effect on other members: the correct call after it
 * matches the calls of the others, and a failed call that others do not make does not matter. */
static void one_errs(void) {
  enum { MOST = 64 };
  int value, sum = 0, all[MOST];
  MPI_Request request;
  open_world("test.misuse.one_errs");
  EXPECT(size <= MOST, "%d processes", size);
  value = rank;
  for (int root = 0; root < size; ++root) {
    if (rank == root) {
      MUST_FAIL(MPI_ERR_BUFFER, MPI_Gather(&value, 1, MPI_INT, NULL, 1, MPI_INT, root, world));
      all[rank] = rank;
      MUST_FAIL(MPI_ERR_BUFFER,
                MPI_Igather(&all[rank], 1, MPI_INT, all, 1, MPI_INT, root, world, &request));
      MUST_FAIL(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, size, world));
      MUST_FAIL(MPI_ERR_BUFFER, MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, world));
    }
    MUST(MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, world));
    for (int i = 0; rank == root && i < size; ++i) EXPECT(all[i] == i, "%d from %d", all[i], i);
    MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world));
    EXPECT(sum == size * (size - 1) / 2, "sum %d", sum);
  }
}

/* Members pass different lengths: each member that gets data from a disagreeing one gets an error,
 * also indirectly. */
static void different_lengths(void) {
  int values[10] = {0};
  MPI_Request request;
  open_world("test.misuse.different_lengths");
  for (int long_root = 0; long_root < 2; ++long_root) {
    const int count = (rank == 0) == long_root ? 10 : 1;
    if (rank == 0) {
      MUST(MPI_Bcast(values, count, MPI_INT, 0, world));
      MUST(MPI_Ibcast(values, count, MPI_INT, 0, world, &request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      MUST_FAIL(MPI_ERR_TRUNCATE, MPI_Bcast(values, count, MPI_INT, 0, world));
      MUST(MPI_Ibcast(values, count, MPI_INT, 0, world, &request));
      MUST_FAIL(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
}

/* Three characters are no multiple of an integer. */
static void other_elements(void) {
  char text[3] = "ab";
  int number = 0;
  MPI_Status status;
  open_world("test.misuse.other_elements");
  MUST(MPI_Send(text, 3, MPI_CHAR, rank, 1, world));
  MUST_FAIL(MPI_ERR_TYPE, MPI_Recv(&number, 1, MPI_INT, rank, 1, world, &status));
  MUST(MPI_Send(&number, 1, MPI_INT, rank, 1, world));
  MUST(MPI_Recv(&number, 1, MPI_INT, rank, 1, world, &status));
  MUST(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, rank, 1, world)); /* no data of a null type */
  MUST(MPI_Recv(&number, 1, MPI_INT, rank, 1, world, &status));
}

/* Null and invalid handles, and objects that do not exist yet, without MPI_Init. */
static void without_init(void) {
  int n;
  MPI_Request none = MPI_REQUEST_NULL;
  char port[MPI_MAX_PORT_NAME];
  open_world("test.misuse.without_init");
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &n));
  MUST_FAIL(MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)(intptr_t)0x1234, &n));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Start(&none));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Cancel(&none));
  MUST_FAIL(MPI_ERR_REQUEST, MPI_Request_free(&none));
  MUST_FAIL(MPI_ERR_OTHER, MPI_Comm_remote_size(MPI_COMM_WORLD, &n));
  MUST_FAIL(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Open_port(MPI_INFO_NULL, port));
}

static void topology(void) {
  MPI_Comm cart;
  int too_big[2] = {size + 1, 1}, negative[1] = {-1}, periods[2] = {0, 0}, coordinates[2] = {0, 0},
      value;
  open_world("test.misuse.topology");
  too_big[0] = size + 1;
  cart = world;
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, 2, too_big, periods, 0, &cart));
  EXPECT(cart == MPI_COMM_NULL, "a handle from a call that failed");
  MUST_FAIL(MPI_ERR_DIMS, MPI_Cart_create(world, 1, negative, periods, 0, &cart));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Cart_coords(world, 0, 2, coordinates));
  MUST_FAIL(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(world, &value));
  MUST_FAIL(MPI_ERR_ARG, MPI_Comm_split(world, -3, 0, &cart));
}

/* Objects of both models in one call: an error, never a crash (MPI-4.1 §11.3 forbids it). */
static void mixed_models(void) {
  MPI_Comm comm;
  return_errors_without_object();
  open_world("test.misuse.mixed_models");
  MPI_Group of_session, of_world;
  int result = -1;
  MUST(MPI_Comm_compare(world, MPI_COMM_WORLD, &result));
  EXPECT(result == MPI_CONGRUENT, "communicators of the same processes compare as %d", result);
  MUST(MPI_Comm_group(world, &of_session));
  MUST(MPI_Comm_group(MPI_COMM_WORLD, &of_world));
  MUST(MPI_Group_compare(of_session, of_world, &result));
  EXPECT(result == MPI_IDENT, "the same processes compare as %d", result);
  int code = MPI_Intercomm_create(world, 0, MPI_COMM_WORLD, (rank + 1) % size, 3, &comm);
  EXPECT(code != MPI_SUCCESS, "an intercommunicator of both models");
  MUST(MPI_Group_free(&of_session));
  MUST(MPI_Group_free(&of_world));
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"sessions", sessions},
                   {"psets", psets},
                   {"groups", groups},
                   {"communicators", communicators},
                   {"point_to_point", point_to_point},
                   {"requests", requests},
                   {"collectives", collectives},
                   {"in_place", in_place},
                   {"one_errs", one_errs},
                   {"different_lengths", different_lengths},
                   {"other_elements", other_elements},
                   {"without_init", without_init},
                   {"topology", topology},
                   {"mixed_models", mixed_models}};
  for (size_t s = 0; argc == 2 && s < sizeof scenarios / sizeof scenarios[0]; ++s)
    if (strcmp(argv[1], scenarios[s].name) == 0) {
      scenarios[s].run();
      go_on();
      int code = close_world(), initialized;
      MUST(MPI_Initialized(&initialized));
      if (initialized) MUST(MPI_Finalize());
      return code;
    }
  fprintf(stderr, "usage: misuse SCENARIO\n");
  return 2;
}
