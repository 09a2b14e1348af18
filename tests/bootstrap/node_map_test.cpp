// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodeMap, KnowsTheNodeOfEachRankIfRanksAreScattered) {
  NodeMap map({"a", "b", "c"}, {2, 0, 2, 0, 0});
  EXPECT_EQ(map.size(), 5u);
  EXPECT_EQ(map.node_count(), 3u);
  EXPECT_EQ(map.host(2), "c");
  EXPECT_EQ(map.node_of(2), 2u);
  EXPECT_THAT(map.ranks_on(0), ElementsAre(1, 3, 4));
  EXPECT_THAT(map.ranks_on(1), IsEmpty());
  EXPECT_THAT(map.ranks_on(2), ElementsAre(0, 2));
}

TEST(NodeMap, LocalRankIsThePositionAmongTheRanksOfTheNode) {
  NodeMap map({"a", "b"}, {1, 0, 1, 1, 0});
  for (std::uint32_t rank = 0; rank < map.size(); ++rank)
    EXPECT_EQ(map.ranks_on(map.node_of(rank))[map.local_rank(rank)], rank);
  EXPECT_EQ(map.local_rank(3), 2u);
}

std::vector<std::uint32_t> nodes_in(const NodeMap& map) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < map.size(); ++rank) nodes.push_back(map.node_of(rank));
  return nodes;
}

TEST(NodeMap, BytesRoundTripWithoutACopy) {
  const NodeMap map({"a", "", "a longer name"}, {2, 0, 2, 0, 0});
  const auto bytes = std::make_shared<const Bytes>(map.bytes().begin(), map.bytes().end());
  const auto again = NodeMap::over(*bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(nodes_in(*again), nodes_in(map));
  EXPECT_EQ(again->host(0), "a");
  EXPECT_EQ(again->host(1), "");
  EXPECT_EQ(again->host(2), "a longer name");
  EXPECT_THAT(again->ranks_on(0), ElementsAre(1, 3, 4));
  EXPECT_EQ(again->local_rank(4), 2u);
  EXPECT_EQ(again->bytes().data(), bytes->data()) << "nothing is copied";
  EXPECT_LE(bytes->size(), NodeMap::max_bytes(5, 3));
}

TEST(NodeMap, CopyKeepsTheBytes) {
  auto map = std::make_unique<NodeMap>(std::vector<std::string>{"a", "b"},
                                       std::vector<std::uint32_t>{0, 1, 0});
  const NodeMap copy = *map;
  map.reset();
  EXPECT_THAT(copy.ranks_on(0), ElementsAre(0, 2));
  EXPECT_EQ(copy.host(1), "b");
}

TEST(NodeMap, RejectsInvalidBytes) {
  const NodeMap map({"a", "bc"}, {1, 0, 1});
  const Bytes bytes(map.bytes().begin(), map.bytes().end());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(NodeMap::over(std::span(bytes).first(length)))
        << "the first " << length << " bytes";
  for (std::size_t word = 0; word < bytes.size() / 4; ++word) {
    if (word >= 2 && word < 2 + 3 * map.size())
      continue;  // node numbers are not checked: only processes of this user can write them
    Bytes damaged = bytes;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(4 * word), 4, std::byte{0xee});
    EXPECT_FALSE(NodeMap::over(damaged)) << "word " << word;
  }
}

TEST(NodeMap, DefaultMapIsEmpty) {
  NodeMap map;
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.node_count(), 0u);
}

}  // namespace
}  // namespace shim::bootstrap
