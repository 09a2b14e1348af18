/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that large-count forms of point-to-point calls and datatype functions do what the small
 * ones do (MPI-4.1 §19.2), with messages to oneself. */
#include "session_world.h"

enum { COUNT = 5, TAG = 3 };
static int out[COUNT] = {1, 2, 3, 4, 5}, in[COUNT];

static void expect_message(const char* form) {
  for (int i = 0; i < COUNT; ++i) EXPECT(in[i] == out[i], "%s: %d at %d", form, in[i], i);
  memset(in, 0, sizeof in);
}
static void receive(const char* form) {
  MPI_Status status;
  int tag = -1, error = -1, source = -1;
  MUST(MPI_Recv_c(in, COUNT, MPI_INT, rank, TAG, world, &status));
  MUST(MPI_Status_get_tag(&status, &tag));
  MUST(MPI_Status_get_source(&status, &source));
  MUST(MPI_Status_set_error(&status, MPI_SUCCESS));
  MUST(MPI_Status_get_error(&status, &error));
  EXPECT(tag == TAG && source == rank && error == MPI_SUCCESS, "%s: tag %d, source %d, error %d",
         form, tag, source, error);
  expect_message(form);
}
static void finish(MPI_Request* request, const char* form) {
  receive(form);
  MUST(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void buffered(void) {
  static char buffer[4096];
  void* address;
  MPI_Count bytes;
  MPI_Request request;
  MUST(MPI_Buffer_attach_c(buffer, sizeof buffer));
  MUST(MPI_Bsend_c(out, COUNT, MPI_INT, rank, TAG, world));
  receive("Bsend_c");
  MUST(MPI_Ibsend_c(out, COUNT, MPI_INT, rank, TAG, world, &request));
  finish(&request, "Ibsend_c");
  MUST(MPI_Bsend_init_c(out, COUNT, MPI_INT, rank, TAG, world, &request));
  MUST(MPI_Start(&request));
  finish(&request, "Bsend_init_c");
  MUST(MPI_Request_free(&request));
  MUST(MPI_Buffer_detach_c(&address, &bytes));
  EXPECT(address == buffer && bytes == sizeof buffer, "%lld bytes", (long long)bytes);
  MUST(MPI_Comm_attach_buffer_c(world, buffer, sizeof buffer));
  MUST(MPI_Bsend_c(out, COUNT, MPI_INT, rank, TAG, world));
  receive("Bsend_c from the communicator's buffer");
  MUST(MPI_Comm_detach_buffer_c(world, &address, &bytes));
  EXPECT(address == buffer && bytes == sizeof buffer, "%lld bytes", (long long)bytes);
}

static void modes(void) {
  MPI_Request request, receiving;
  MUST(MPI_Irecv_c(in, COUNT, MPI_INT, rank, TAG, world, &receiving));
  MUST(MPI_Rsend_c(out, COUNT, MPI_INT, rank, TAG, world));
  MUST(MPI_Wait(&receiving, MPI_STATUS_IGNORE));
  expect_message("Rsend_c");
  MUST(MPI_Irecv_c(in, COUNT, MPI_INT, rank, TAG, world, &receiving));
  MUST(MPI_Irsend_c(out, COUNT, MPI_INT, rank, TAG, world, &request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MUST(MPI_Wait(&receiving, MPI_STATUS_IGNORE));
  expect_message("Irsend_c");
  MUST(MPI_Issend_c(out, COUNT, MPI_INT, rank, TAG, world, &request));
  finish(&request, "Issend_c");
  MUST(MPI_Sendrecv_c(out, COUNT, MPI_INT, rank, TAG, in, COUNT, MPI_INT, rank, TAG, world,
                      MPI_STATUS_IGNORE));
  expect_message("Sendrecv_c");
  memcpy(in, out, sizeof in);
  MUST(MPI_Sendrecv_replace_c(in, COUNT, MPI_INT, rank, TAG, rank, TAG, world, MPI_STATUS_IGNORE));
  expect_message("Sendrecv_replace_c");
  MPI_Message message;
  MUST(MPI_Isend_c(out, COUNT, MPI_INT, rank, TAG, world, &request));
  MUST(MPI_Mprobe(rank, TAG, world, &message, MPI_STATUS_IGNORE));
  MUST(MPI_Imrecv_c(in, COUNT, MPI_INT, &message, &receiving));
  MUST(MPI_Wait(&receiving, MPI_STATUS_IGNORE));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_message("Imrecv_c");
}

typedef int Init(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static void persistent(void) {
  static const struct {
    const char* name;
    Init* init;
  } sends[] = {{"Send_init_c", MPI_Send_init_c},
               {"Ssend_init_c", MPI_Ssend_init_c},
               {"Rsend_init_c", MPI_Rsend_init_c}};
  MPI_Request pair[2];
  MPI_Status statuses[2];
  MUST(MPI_Recv_init_c(in, COUNT, MPI_INT, rank, TAG, world, &pair[0]));
  for (int i = 0; i < 3; ++i) {
    MUST(sends[i].init(out, COUNT, MPI_INT, rank, TAG, world, &pair[1]));
    for (int start = 0; start < 2; ++start) {
      MUST(MPI_Startall(2, pair)); /* the receive first, for the ready send */
      MUST(MPI_Waitall(2, pair, statuses));
      expect_message(sends[i].name);
    }
    MUST(MPI_Request_free(&pair[1]));
  }
  MUST(MPI_Request_free(&pair[0]));
}

/* Check that both types have the same bounds and pack the same bytes, and free both. */
static void expect_same(const char* what, MPI_Datatype small, MPI_Datatype large) {
  static char items[4096], packed[2][1024], external[2][1024];
  MPI_Aint lower, extent, external_small = 0, external_bytes;
  MPI_Count lower_c, extent_c, size_small, size_large, place = 0, external_large = 0, elements = -1,
                                                       need;
  int position = 0;
  for (int i = 0; i < (int)sizeof items; ++i) items[i] = (char)(i * 7);
  MUST(MPI_Type_commit(&small));
  MUST(MPI_Type_commit(&large));
  MUST(MPI_Type_size_x(small, &size_small));
  MUST(MPI_Type_size_c(large, &size_large));
  EXPECT(size_small == size_large && size_small > 0, "%s: sizes %lld, %lld", what,
         (long long)size_small, (long long)size_large);
  MUST(MPI_Type_get_extent(small, &lower, &extent));
  MUST(MPI_Type_get_extent_x(large, &lower_c, &extent_c));
  EXPECT(lower == lower_c && extent == extent_c, "%s: bounds", what);
  MUST(MPI_Type_get_true_extent_x(small, &size_small, &size_large));
  MUST(MPI_Type_get_true_extent_c(large, &lower_c, &extent_c));
  EXPECT(size_small == lower_c && size_large == extent_c, "%s: true bounds", what);
  MUST(MPI_Pack(items + 1024, 2, small, packed[0], sizeof packed[0], &position, world));
  MUST(MPI_Pack_c(items + 1024, 2, large, packed[1], sizeof packed[1], &place, world));
  EXPECT(position == place && memcmp(packed[0], packed[1], (size_t)place) == 0, "%s: packed", what);
  MUST(MPI_Pack_size(2, small, world, &position));
  MUST(MPI_Pack_size_c(2, large, world, &need));
  EXPECT(need == position && need >= place, "%s: size %lld", what, (long long)need);
  MUST(MPI_Pack_external("external32", items + 1024, 2, small, external[0], sizeof external[0],
                         &external_small));
  MUST(MPI_Pack_external_c("external32", items + 1024, 2, large, external[1], sizeof external[1],
                           &external_large));
  EXPECT(external_small == external_large &&
             memcmp(external[0], external[1], (size_t)external_small) == 0,
         "%s: external32", what);
  MUST(MPI_Pack_external_size("external32", 2, small, &external_bytes));
  MUST(MPI_Pack_external_size_c("external32", 2, large, &need));
  EXPECT(need == external_bytes, "%s: size in external32", what);
  static char back[2][4096];
  memset(back, 0, sizeof back);
  position = 0, place = 0, external_large = 0;
  MUST(MPI_Unpack(packed[0], sizeof packed[0], &position, back[0] + 1024, 2, small, world));
  MUST(MPI_Unpack_c(packed[0], sizeof packed[0], &place, back[1] + 1024, 2, large, world));
  EXPECT(memcmp(back[0], back[1], sizeof back[0]) == 0, "%s: unpacked", what);
  memset(back[1], 0, sizeof back[1]);
  MUST(MPI_Unpack_external_c("external32", external[0], sizeof external[0], &external_large,
                             back[1] + 1024, 2, large));
  EXPECT(memcmp(back[0], back[1], sizeof back[0]) == 0, "%s: unpacked from external32", what);
  MPI_Status status;
  MUST(MPI_Sendrecv_c(items + 1024, 1, large, rank, TAG, back[0] + 1024, 1, small, rank, TAG, world,
                      &status));
  MUST(MPI_Get_elements_c(&status, small, &elements));
  EXPECT(elements > 0, "%s: %lld elements", what, (long long)elements);
  MUST(MPI_Type_free(&small));
  MUST(MPI_Type_free(&large));
}

static void types(void) {
  MPI_Datatype small, large;
  int lengths[] = {1, 3}, places[] = {4, 0}, sizes[] = {4, 5}, part[] = {2, 3}, from[] = {1, 1};
  int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
      arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 1};
  MPI_Aint bytes[] = {24, 0};
  MPI_Count lengths_c[] = {1, 3}, places_c[] = {4, 0}, bytes_c[] = {24, 0}, sizes_c[] = {4, 5},
            part_c[] = {2, 3}, from_c[] = {1, 1};
  MPI_Datatype of[] = {MPI_INT, MPI_SHORT};
  MUST(MPI_Type_vector(3, 2, 4, MPI_INT, &small));
  MUST(MPI_Type_vector_c(3, 2, 4, MPI_INT, &large));
  expect_same("vector", small, large);
  MUST(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &small));
  MUST(MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &large));
  expect_same("hvector", small, large);
  MUST(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &small));
  MUST(MPI_Type_create_hindexed_c(2, lengths_c, bytes_c, MPI_INT, &large));
  expect_same("hindexed", small, large);
  MUST(MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &small));
  MUST(MPI_Type_create_indexed_block_c(2, 2, places_c, MPI_INT, &large));
  expect_same("indexed block", small, large);
  MUST(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &small));
  MUST(MPI_Type_create_hindexed_block_c(2, 2, bytes_c, MPI_INT, &large));
  expect_same("hindexed block", small, large);
  MUST(MPI_Type_create_struct(2, lengths, bytes, of, &small));
  MUST(MPI_Type_create_struct_c(2, lengths_c, bytes_c, of, &large));
  expect_same("struct", small, large);
  MUST(MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &small));
  MUST(MPI_Type_create_subarray_c(2, sizes_c, part_c, from_c, MPI_ORDER_C, MPI_INT, &large));
  expect_same("subarray", small, large);
  for (int member = 0; member < 2; ++member) {
    MUST(MPI_Type_create_darray(2, member, 2, sizes, distributions, arguments, grid,
                                MPI_ORDER_FORTRAN, MPI_INT, &small));
    MUST(MPI_Type_create_darray_c(2, member, 2, sizes_c, distributions, arguments, grid,
                                  MPI_ORDER_FORTRAN, MPI_INT, &large));
    expect_same("darray", small, large);
  }
  MUST(MPI_Type_create_resized(MPI_INT, -4, 12, &small));
  MUST(MPI_Type_create_resized_c(MPI_INT, -4, 12, &large));
  expect_same("resized", small, large);
}

static void addresses(void) {
  MPI_Aint first, last;
  MUST(MPI_Get_address(&out[0], &first));
  MUST(MPI_Get_address(&out[COUNT - 1], &last));
  EXPECT(MPI_Aint_diff(last, first) == (COUNT - 1) * (MPI_Aint)sizeof(int),
         "the difference of two addresses");
  EXPECT(MPI_Aint_add(first, (COUNT - 1) * (MPI_Aint)sizeof(int)) == last,
         "the sum of an address and a length");
}

int main(void) {
  open_world("test.large_forms");
  buffered();
  modes();
  persistent();
  types();
  addresses();
  return close_world();
}
