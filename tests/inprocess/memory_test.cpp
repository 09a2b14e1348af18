// SPDX-License-Identifier: BSD-3-Clause
// What communicators leave behind when they are freed: nothing, however many there were, and whether or not one came of the call.
#include <malloc.h>

#include <functional>

#include "cluster.hpp"
#include "shim/sessions/derive.hpp"

namespace shim::sessions::testing {
namespace {

/// One arena for all threads: mallinfo2 tells of no other.
class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kCountsMemory) ASSERT_EQ(mallopt(M_ARENA_MAX, 1), 1);
  }

  /// Each does this so often, and then ten times as often.
  void expect_flat(int times, const std::function<void(Member&)>& once) {
    Cluster cluster(World::of(1, 3));
    std::size_t early = 0;
    cluster.run([&](Member& member) {
      CommunicatorPtr world = member.create_world("test.memory");
      for (int i = 0; i < times; ++i) once(member);
      sum(world, 1);
      if (member.rank() == 0) early = mallinfo2().uordblks;
      sum(world, 1);
      for (int i = 0; i < 10 * times; ++i) once(member);
      sum(world, 1);
      if (member.rank() == 0 && kCountsMemory) EXPECT_LT(mallinfo2().uordblks, early + 8 * 1024);
      sum(world, 1);
    });
  }
};

TEST_F(Memory, OfCommunicatorsThatAreGone) {
  expect_flat(100, [](Member& member) { ASSERT_NE(member.create_world("test.one"), nullptr); });
}

TEST_F(Memory, OfCallsThatMadeNone) {
  expect_flat(20, [](Member& member) {
    CommunicatorPtr world = member.create_world("test.split");
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(split(world, member.rank() == i % 3 ? 0 : kUndefined, 0));
  });
}

}  // namespace
}  // namespace shim::sessions::testing
