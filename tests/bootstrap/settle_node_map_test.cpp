// SPDX-License-Identifier: BSD-3-Clause
// One process of a node asks the launcher who is where; what others do meanwhile is node_hardware_test's affair.
#include "shim/bootstrap/settle_node_map.hpp"

#include <gmock/gmock.h>

#include "shim/bootstrap/inmem/inmem.hpp"
#include "tests/bootstrap/segment_rig.hpp"

namespace shim::bootstrap::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettleNodeMap : public SegmentTest {
 protected:
  std::unique_ptr<NodeSegment> attach_for(std::uint32_t slot, std::size_t node_map_bytes) const {
    auto made = spec(slot);
    made.node_map_bytes = node_map_bytes;
    return attach(made);
  }
  /// Who has asked the launcher, by rank.
  std::vector<std::uint32_t> askers_;
  std::shared_ptr<inmem::Launcher> launcher_ = inmem::Launcher::start(inmem::World::of(2, 2));
  bool fails_ = false;
  SettleNodeMap() {
    launcher_->set_faults([this](const inmem::Operation& operation) {
      if (operation.kind != inmem::Operation::Kind::node_map) return inmem::Fault{};
      askers_.push_back(operation.caller);
      return fails_ ? inmem::Fault::failing() : inmem::Fault{};
    });
  }
};

TEST_F(SettleNodeMap, OneAsksForAllOfItsNode) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, NodeMap::most_bytes(4, 2)), of_one = attach_for(1, NodeMap::most_bytes(4, 2));
  ASSERT_TRUE(settle_node_map(*one, *of_one));
  ASSERT_TRUE(settle_node_map(*zero, *of_zero));
  EXPECT_THAT(askers_, ElementsAre(1));
  EXPECT_THAT(zero->node_map().ranks_on(1), ElementsAre(2, 3));
  EXPECT_EQ(zero->node_map().host(1), "node1");
  const auto* begin = of_zero->node_map_place().room.data();
  EXPECT_EQ(zero->node_map().bytes().data(), begin) << "it is in the segment, and nowhere else";
}

TEST_F(SettleNodeMap, WithoutRoomEverybodyAsks) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, 8), of_one = attach_for(1, 8);
  ASSERT_TRUE(settle_node_map(*one, *of_one));
  ASSERT_TRUE(settle_node_map(*zero, *of_zero));
  EXPECT_THAT(askers_, ElementsAre(1, 0));
  EXPECT_THAT(zero->node_map().ranks_on(1), ElementsAre(2, 3));
}

TEST_F(SettleNodeMap, AMapOfAnotherSizeIsNotBelieved) {
  auto zero = launcher_->open(0);
  auto segment = attach_for(0, NodeMap::most_bytes(4, 2));
  const NodeMap another({"a"}, {0, 0, 0});
  const FoundPlace place = segment->node_map_place();
  ASSERT_TRUE(segment->back(place.room.data(), place.room.size()));
  std::ranges::copy(another.bytes(), place.room.begin());
  place.control.bytes = static_cast<std::uint32_t>(another.bytes().size());
  place.control.state = FoundControl::kWritten;
  ASSERT_TRUE(settle_node_map(*zero, *segment));
  EXPECT_EQ(zero->node_map().size(), 4u);
}

TEST_F(SettleNodeMap, AnErrorOfTheLauncherIsTheAnswerAndTheNextTries) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, NodeMap::most_bytes(4, 2)), of_one = attach_for(1, NodeMap::most_bytes(4, 2));
  fails_ = true;
  EXPECT_THAT(error_of(settle_node_map(*one, *of_one)).text(), HasSubstr("map of the nodes"));
  fails_ = false;
  ASSERT_TRUE(settle_node_map(*zero, *of_zero));
  ASSERT_TRUE(settle_node_map(*one, *of_one));
  EXPECT_THAT(askers_, ElementsAre(1, 0));
}

}  // namespace
}  // namespace shim::bootstrap::testing
