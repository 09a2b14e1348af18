// SPDX-License-Identifier: BSD-3-Clause
// Tests that freed communicators leave no memory behind, however many there were, and that calls
// which return no communicator leave none either.
#include <functional>

#include "cluster.hpp"
#include "memory_in_use.hpp"
#include "shim/p2p/peer.hpp"
#include "shim/sessions/derived_communicator.hpp"

namespace shim::sessions::testing {
namespace {

/// Send messages before their receives are posted. The engine keeps the memory of the first ones,
/// which would otherwise be allocated at a random time later.
void send_unexpected(const CommunicatorPtr& world) {
  p2p::Engine& engine = world->process().engine();
  std::byte byte{};
  const types::Type& type = types::byte_type();
  for (int other = 0; other < world->size(); ++other) {
    if (other == world->rank()) continue;
    ASSERT_TRUE(
        engine.send(world->context(), {&byte, 1, &type}, other, 1, p2p::SendMode::standard));
  }
  sum(world, 1);  // polls for the messages
  for (int other = 0; other < world->size(); ++other) {
    if (other == world->rank()) continue;
    ASSERT_TRUE(engine.recv(world->context(), {&byte, 1, &type}, other, 1));
  }
}

/// On one node, and on two nodes with members besides the node leaders.
class Memory : public ::testing::TestWithParam<World> {
 protected:
  /// Run `once` `times` times, then ten times as often; check that memory does not grow.
  void expect_flat(int times, const std::function<void(Member&)>& once) {
    Cluster cluster(GetParam());
    std::size_t early = 0;
    cluster.run([&](Member& member) {
      CommunicatorPtr world = member.create_world("test.memory");
      send_unexpected(world);
      for (int i = 0; i < times; ++i) once(member);
      sum(world, 1);
      if (member.rank() == 0) early = memory_in_use();
      sum(world, 1);
      for (int i = 0; i < 10 * times; ++i) once(member);
      sum(world, 1);
      if (member.rank() == 0) {
        EXPECT_LT(memory_in_use(), early + 4096);
      }
      sum(world, 1);
    });
  }
};

TEST_P(Memory, FreedCommunicatorsLeaveNoMemory) {
  expect_flat(100, [](Member& member) { ASSERT_NE(member.create_world("test.one"), nullptr); });
}

TEST_P(Memory, CallsWithoutACommunicatorLeaveNoMemory) {
  expect_flat(20, [](Member& member) {
    CommunicatorPtr world = member.create_world("test.split");
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(split(world, member.rank() == i % 3 ? 0 : kUndefined, 0));
  });
}

/// A node leader has a Peer for each process of its node. To most of them it sends only the outcome
/// of creations.
TEST(MemoryOfPeer, IdlePeerAllocatesNothing) {
  const std::size_t before = memory_in_use();
  const p2p::Peer peer(base::ProcessId{});
  EXPECT_EQ(memory_in_use(), before);
}

INSTANTIATE_TEST_SUITE_P(Worlds, Memory, ::testing::Values(World::of(1, 3), World::of(2, 2)));

}  // namespace
}  // namespace shim::sessions::testing
