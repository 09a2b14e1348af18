// SPDX-License-Identifier: BSD-3-Clause
// Tests arrays of handles besides the argument that selects the library: how many entries are
// searched, and that arrays without meaning are ignored.
#include "shim/intercept/native/arrays.hpp"

#include <gtest/gtest.h>

#include <array>

#include "shim/intercept/generated/table.hpp"

namespace shim::intercept {
namespace {

/// Properties that the simulated native library reports for the communicator of these tests.
struct NativeCommunicator {
  int size = 3, remote_size = 2, rank = 1, topology = MPI_UNDEFINED, dimensions = 1, in = 1,
      out = 2;
  bool is_inter = false;
};
NativeCommunicator native_communicator;

class Arrays : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    abi::handle_was_made.store(true);
    active_table.Comm_test_inter.set(
        [](MPI_Comm, int* flag) { return *flag = native_communicator.is_inter, MPI_SUCCESS; });
    active_table.Comm_size.set(
        [](MPI_Comm, int* size) { return *size = native_communicator.size, MPI_SUCCESS; });
    active_table.Comm_remote_size.set(
        [](MPI_Comm, int* size) { return *size = native_communicator.remote_size, MPI_SUCCESS; });
    active_table.Comm_rank.set(
        [](MPI_Comm, int* rank) { return *rank = native_communicator.rank, MPI_SUCCESS; });
    active_table.Topo_test.set(
        [](MPI_Comm, int* status) { return *status = native_communicator.topology, MPI_SUCCESS; });
    active_table.Cartdim_get.set(
        [](MPI_Comm, int* count) { return *count = native_communicator.dimensions, MPI_SUCCESS; });
    active_table.Graph_neighbors_count.set([](MPI_Comm, int rank, int* count) {
      return *count = rank == native_communicator.rank ? native_communicator.out : 0, MPI_SUCCESS;
    });
    active_table.Dist_graph_neighbors_count.set([](MPI_Comm, int* in, int* out, int* weighted) {
      *in = native_communicator.in, *out = native_communicator.out, *weighted = 0;
      return MPI_SUCCESS;
    });
  }
  void SetUp() override {
    native_communicator = NativeCommunicator();
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }

  /// True if a datatype of ours at this index of the send types is found.
  bool finds_sent(Reach reach, std::size_t index, const void* buffer = nullptr) {
    const auto sent = with_ours_at(index), received = with_ours_at(kNowhere);
    return ours_among(comm_, reach, {buffer, sent.data(), received.data()});
  }
  bool finds_received(Reach reach, std::size_t index, const void* buffer = nullptr) {
    const auto sent = with_ours_at(kNowhere), received = with_ours_at(index);
    return ours_among(comm_, reach, {buffer, sent.data(), received.data()});
  }
  bool finds_info(int root, std::size_t index, int count) {
    std::array<MPI_Info, 8> infos{};
    infos[index] = abi::from_bits<MPI_Info>(abi::encode({abi::HandleKind::info, 1, 1}));
    return ours_among(comm_, root, infos.data(), count);
  }

  static constexpr std::size_t kNowhere = 7;
  static std::array<MPI_Datatype, 8> with_ours_at(std::size_t index) {
    std::array<MPI_Datatype, 8> types{};
    types[index] = abi::from_bits<MPI_Datatype>(abi::encode({abi::HandleKind::datatype, 1, 1}));
    return types;
  }
  MPI_Comm comm_ = abi::from_bits<MPI_Comm>(4096);  // neither ours nor null
};

TEST_F(Arrays, HaveAnEntryForEachMember) {
  EXPECT_TRUE(finds_sent(Reach::peers, 2));
  EXPECT_FALSE(finds_sent(Reach::peers, 3));
  EXPECT_TRUE(finds_received(Reach::peers, 0));
  EXPECT_FALSE(finds_received(Reach::peers, 3));
}

TEST_F(Arrays, HaveAnEntryForEachMemberOfTheRemoteGroup) {
  native_communicator.is_inter = true;
  EXPECT_TRUE(finds_sent(Reach::peers, 1));
  EXPECT_FALSE(finds_sent(Reach::peers, 2));
}

TEST_F(Arrays, OfMpiInPlaceAreIgnored) {
  EXPECT_FALSE(finds_sent(Reach::peers, 0, MPI_IN_PLACE));
  EXPECT_TRUE(finds_received(Reach::peers, 0, MPI_IN_PLACE));
}

TEST_F(Arrays, HaveAnEntryForEachNeighbor) {
  native_communicator.topology = MPI_CART;
  EXPECT_TRUE(finds_sent(Reach::neighbors, 1));
  EXPECT_FALSE(finds_sent(Reach::neighbors, 2));
  native_communicator.topology = MPI_GRAPH;
  EXPECT_TRUE(finds_received(Reach::neighbors, 1));
  EXPECT_FALSE(finds_received(Reach::neighbors, 2));
  native_communicator.topology = MPI_DIST_GRAPH;
  EXPECT_TRUE(finds_sent(Reach::neighbors, 1));
  EXPECT_FALSE(finds_sent(Reach::neighbors, 2));
  EXPECT_TRUE(finds_received(Reach::neighbors, 0));
  EXPECT_FALSE(finds_received(Reach::neighbors, 1));
  native_communicator.topology = MPI_UNDEFINED;
  EXPECT_FALSE(finds_sent(Reach::neighbors, 0));
}

TEST_F(Arrays, OfInfosAreReadOnlyAtTheRoot) {
  EXPECT_TRUE(finds_info(1, 2, 3));
  EXPECT_FALSE(finds_info(1, 3, 3));
  EXPECT_FALSE(finds_info(0, 2, 3));
}

TEST_F(Arrays, AreIgnoredIfTheNativeLibraryRefusesTheCall) {
  comm_ = MPI_Comm{};
  EXPECT_FALSE(finds_sent(Reach::peers, 0));
  EXPECT_FALSE(finds_info(1, 0, 3));
}

TEST_F(Arrays, AreIgnoredWhileTheNativeLibraryIsNotInitialised) {
  for (Table* table : {&inactive_table, &served_table}) {
    current_table.store(table, std::memory_order_release);  // pairs with native()
    EXPECT_FALSE(finds_sent(Reach::peers, 0));
    EXPECT_FALSE(finds_info(1, 0, 3));
  }
}

}  // namespace
}  // namespace shim::intercept
