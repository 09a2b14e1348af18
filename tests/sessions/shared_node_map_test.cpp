// SPDX-License-Identifier: BSD-3-Clause
// Tests resolve_shared_node_map: one process of each node queries the launcher for the node map.
// node_hardware_test covers the processes that wait meanwhile.
#include "shim/sessions/shared_node_map.hpp"

#include <gmock/gmock.h>

#include "shim/bootstrap/inmem/inmem.hpp"
#include "shim/node/node_once.hpp"
#include "tests/node/segment_rig.hpp"

namespace shim::sessions::testing {
namespace {

namespace inmem = bootstrap::inmem;
using bootstrap::NodeMap;
using node::NodeOnceControl;
using node::NodeOnceStorage;
using node::NodeSegment;
using node::testing::error_of;
using node::testing::SegmentTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SharedNodeMap : public SegmentTest {
 protected:
  std::unique_ptr<NodeSegment> attach_for(std::uint32_t slot, std::size_t node_map_bytes) const {
    auto made = spec(slot);
    made.node_map_bytes = node_map_bytes;
    return attach(made);
  }
  /// Ranks that have queried the launcher, in order.
  std::vector<std::uint32_t> callers_;
  std::shared_ptr<inmem::Launcher> launcher_ = inmem::Launcher::start(inmem::World::of(2, 2));
  bool fails_ = false;
  SharedNodeMap() {
    launcher_->set_faults([this](const inmem::LauncherCall& operation) {
      if (operation.kind != inmem::LauncherCall::Type::node_map) return inmem::Fault{};
      callers_.push_back(operation.caller);
      return fails_ ? inmem::Fault::failing() : inmem::Fault{};
    });
  }
};

TEST_F(SharedNodeMap, OneProcessOfANodeQueriesTheLauncher) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, NodeMap::max_bytes(4, 2)),
       of_one = attach_for(1, NodeMap::max_bytes(4, 2));
  ASSERT_TRUE(resolve_shared_node_map(*one, *of_one));
  ASSERT_TRUE(resolve_shared_node_map(*zero, *of_zero));
  EXPECT_THAT(callers_, ElementsAre(1));
  EXPECT_THAT(zero->node_map().ranks_on(1), ElementsAre(2, 3));
  EXPECT_EQ(zero->node_map().host(1), "node1");
  const auto* begin = of_zero->node_map_storage().bytes.data();
  EXPECT_EQ(zero->node_map().bytes().data(), begin)
      << "the map uses the bytes in the segment, without a copy";
}

TEST_F(SharedNodeMap, EveryProcessQueriesIfTheSegmentHasNoRoom) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, 8), of_one = attach_for(1, 8);
  ASSERT_TRUE(resolve_shared_node_map(*one, *of_one));
  ASSERT_TRUE(resolve_shared_node_map(*zero, *of_zero));
  EXPECT_THAT(callers_, ElementsAre(1, 0));
  EXPECT_THAT(zero->node_map().ranks_on(1), ElementsAre(2, 3));
}

TEST_F(SharedNodeMap, IgnoresAMapOfAnotherSize) {
  auto zero = launcher_->open(0);
  auto segment = attach_for(0, NodeMap::max_bytes(4, 2));
  const NodeMap another({"a"}, {0, 0, 0});
  const NodeOnceStorage storage = segment->node_map_storage();
  ASSERT_TRUE(segment->back(storage.bytes.data(), storage.bytes.size()));
  std::ranges::copy(another.bytes(), storage.bytes.begin());
  storage.control.bytes = static_cast<std::uint32_t>(another.bytes().size());
  storage.control.state = NodeOnceControl::kPublished;
  ASSERT_TRUE(resolve_shared_node_map(*zero, *segment));
  EXPECT_EQ(zero->node_map().size(), 4u);
}

TEST_F(SharedNodeMap, AfterALauncherErrorTheNextProcessQueries) {
  auto zero = launcher_->open(0), one = launcher_->open(1);
  auto of_zero = attach_for(0, NodeMap::max_bytes(4, 2)),
       of_one = attach_for(1, NodeMap::max_bytes(4, 2));
  fails_ = true;
  EXPECT_THAT(error_of(resolve_shared_node_map(*one, *of_one)).text(),
              HasSubstr("map of the nodes"));
  fails_ = false;
  ASSERT_TRUE(resolve_shared_node_map(*zero, *of_zero));
  ASSERT_TRUE(resolve_shared_node_map(*one, *of_one));
  EXPECT_THAT(callers_, ElementsAre(1, 0));
}

}  // namespace
}  // namespace shim::sessions::testing
