// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodeMap, KnowsWhoIsWhereWhenRanksAreScattered) {
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

TEST(NodeMap, OfNothingIsEmpty) {
  NodeMap map;
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.node_count(), 0u);
}

}  // namespace
}  // namespace shim::bootstrap
