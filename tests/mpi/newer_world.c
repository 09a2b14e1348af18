/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests MPI-4 functions on objects of the world model, whatever the native library has: large
 * counts, persistent collectives, communicators with hints. */
#include <limits.h>
#include <stdint.h>

#include "session_world.h"

static void messages(void) {
  int out[3] = {rank, rank + 1, rank + 2}, in[3];
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Message message;
  MPI_Count count = -1;
  MUST(MPI_Irecv_c(in, (MPI_Count)3, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]));
  MUST(MPI_Send_c(out, (MPI_Count)3, MPI_INT, next, 1, MPI_COMM_WORLD));
  MUST(MPI_Wait(&requests[0], &status));
  MUST(MPI_Get_count_c(&status, MPI_INT, &count));
  EXPECT(count == 3 && in[2] == before + 2, "count %lld, got %d", (long long)count, in[2]);
  MUST(MPI_Isendrecv_c(out, 3, MPI_INT, next, 2, in, 3, MPI_INT, before, 2, MPI_COMM_WORLD,
                       &requests[0]));
  MUST(MPI_Wait(&requests[0], &status));
  MUST(MPI_Isendrecv_replace_c(out, 3, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, &requests[0]));
  MUST(MPI_Wait(&requests[0], &status));
  EXPECT(out[0] == before, "replaced by %d", out[0]);
  MUST(MPI_Isend_c(in, 3, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]));
  MUST(MPI_Mprobe(rank, 3, MPI_COMM_WORLD, &message, &status));
  MUST(MPI_Mrecv_c(out, 3, MPI_INT, &message, &status));
  MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
#if MPI_VERSION < 4 /* the native library has no large counts: counts must fit into an int */
  MUST_FAIL(MPI_ERR_COUNT,
            MPI_Send_c(out, (MPI_Count)INT_MAX + 1, MPI_BYTE, next, 1, MPI_COMM_WORLD));
  MUST_FAIL(MPI_ERR_COUNT, MPI_Irecv_c(out, -((MPI_Count)1 << 40), MPI_BYTE, next, 1,
                                       MPI_COMM_WORLD, &requests[0]));
#endif
}

/* The library must copy arrays of counts: they are freed before the operation ends. */
static void collectives(void) {
  int *in = malloc(sizeof(int) * size), *out = malloc(sizeof(int) * size);
  MPI_Count* counts = malloc(sizeof(MPI_Count) * size);
  MPI_Aint* places = malloc(sizeof(MPI_Aint) * size);
  MPI_Request request;
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < size; ++i)
      counts[i] = 1, places[i] = size - 1 - i, in[i] = -1, out[i] = rank * 100 + i;
    const MPI_Count* at_root = rank == root ? counts : (const MPI_Count*)(intptr_t)8;
    const MPI_Aint* places_at_root = rank == root ? places : (const MPI_Aint*)(intptr_t)8;
    MUST(MPI_Gatherv_c(&rank, 1, MPI_INT, in, at_root, places_at_root, MPI_INT, root,
                       MPI_COMM_WORLD));
    for (int i = 0; i < size && rank == root; ++i)
      EXPECT(in[size - 1 - i] == i, "in[%d] is %d", size - 1 - i, in[size - 1 - i]);
  }
  MUST(MPI_Ialltoallv_c(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD,
                        &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < size; ++i)
    EXPECT(in[places[i]] == i * 100 + places[rank], "from %d: %d", i, in[places[i]]);
  for (int i = 0; i < size; ++i) in[i] = i * 10;
  MUST(MPI_Alltoallv_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, counts, places, MPI_INT,
                       MPI_COMM_WORLD));
  int sum = 0, one = 1;
  MUST(MPI_Iallreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(sum == size, "sum %d", sum);
  MUST(MPI_Reduce_scatter_c(out, &sum, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  EXPECT(sum == (size - 1) * 100 + rank, "maximum %d", sum);
#if MPI_VERSION < 4
  counts[0] = (MPI_Count)INT_MAX + 1;
  MUST_FAIL(MPI_ERR_COUNT,
            MPI_Reduce_scatter_c(out, &sum, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
#endif
  free(in);
  free(out);
  free(counts);
  free(places);
}

static void persistent(void) {
  MPI_Datatype pair;
  MPI_Request requests[5];
  int data[2], sum, value, *all = malloc(sizeof(int) * size), ours = -1;
  MPI_Count* counts = malloc(sizeof(MPI_Count) * size);
  MPI_Aint* places = malloc(sizeof(MPI_Aint) * size);
  for (int i = 0; i < size; ++i) counts[i] = 1, places[i] = i;
  MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
  MUST(MPI_Type_commit(&pair));
  MUST(MPI_Bcast_init(data, 1, pair, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  if (MPI_VERSION < 4)
    MUST(MPI_Type_free(
        &pair)); /* before the first start; MPICH 4.0's native function then loses the type */
  MUST(MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
  MUST(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]));
  MUST(MPI_Allgatherv_init_c(&value, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &requests[3]));
  MUST(MPI_Recv_init(&ours, 1, MPI_INT, rank, 9, world, &requests[4]));
  for (int round = 0; round < 3; ++round) {
    data[0] = data[1] = rank == 0 ? round * 7 : -1;
    value = rank + round;
    MUST(MPI_Startall(5, requests));
    MUST(MPI_Send(&round, 1, MPI_INT, rank, 9, world));
    /* MPICH 4.0 has persistent collectives: its MPI_Testall returns MPI_ERR_IN_STATUS for them
     * without an error in a status, and its MPI_Testany reports inactive ones as complete */
    if (MPI_VERSION < 4) MUST(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 5; ++i) MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    EXPECT(data[0] == round * 7 && data[1] == round * 7, "round %d: %d %d", round, data[0],
           data[1]);
    EXPECT(sum == size * (size - 1) / 2 + size * round, "round %d: sum %d", round, sum);
    for (int i = 0; i < size; ++i)
      EXPECT(all[i] == i + round, "round %d: all[%d] is %d", round, i, all[i]);
    EXPECT(ours == round, "round %d: %d", round, ours);
  }
  int flag = 0, index = 0;
  MUST(MPI_Testany(5, requests, &index, &flag, MPI_STATUS_IGNORE));
  EXPECT(flag && (index == MPI_UNDEFINED || MPI_VERSION >= 4), "index %d of inactive requests",
         index);
  for (int i = 0; i < 5; ++i) MUST(MPI_Request_free(&requests[i]));
  if (pair != MPI_DATATYPE_NULL) MUST(MPI_Type_free(&pair));
  free(all);
  free(counts);
  free(places);
}

static void types(void) {
  MPI_Datatype made;
  MPI_Count blocks[2] = {1, 2}, places[2] = {0, 3}, size_of = -1, lower = -1, extent = -1;
  MUST(MPI_Type_indexed_c(2, blocks, places, MPI_INT, &made));
  MUST(MPI_Type_commit(&made));
  MUST(MPI_Type_size_c(made, &size_of));
  MUST(MPI_Type_get_extent_c(made, &lower, &extent));
  EXPECT(size_of == 12 && lower == 0 && extent == 20, "size %lld extent %lld", (long long)size_of,
         (long long)extent);
  int items[5] = {1, 2, 3, 4, 5}, packed[3] = {0};
  MPI_Count position = 0, capacity = 0;
  MUST(MPI_Pack_size_c(1, made, MPI_COMM_WORLD, &capacity));
  EXPECT(capacity >= 12, "room %lld", (long long)capacity);
  MUST(MPI_Pack_c(items, 1, made, packed, sizeof packed, &position, MPI_COMM_WORLD));
  EXPECT(position == 12 && packed[0] == 1 && packed[1] == 4 && packed[2] == 5, "position %lld",
         (long long)position);
  MUST(MPI_Type_free(&made));
}

static void hints(void) {
  MPI_Info info;
  MPI_Comm copy;
  MPI_Request request;
  char value[16];
  int flag, length = sizeof value, members = 0;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "a_key", "its value"));
  MUST(MPI_Info_get_string(info, "a_key", &length, value, &flag));
  EXPECT(flag && strcmp(value, "its value") == 0 && length == 10, "%s", value);
  MUST(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &copy, &request));
  MUST(MPI_Info_free(&info));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Comm_size(copy, &members));
  EXPECT(members == size, "%d members", members);
  MUST(MPI_Comm_free(&copy));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  open_world("test.newer_world");
  messages();
  collectives();
  persistent();
  types();
  hints();
  int code = close_world();
  MPI_Finalize();
  return code;
}
