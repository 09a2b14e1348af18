// SPDX-License-Identifier: BSD-3-Clause
// Tests failed members, and any-source receives that might wait for one of them.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class FailedMembers : public testing::Test {
 protected:
  World world{{.processes = 4}};
  std::vector<ContextPtr> contexts = world.contexts();
  Data data = Data(8);

  Context& context(int rank) { return *contexts[static_cast<std::size_t>(rank)]; }
  Engine& engine() { return world.engine(0); }
  /// Post a receive from any source, as MPI_Irecv does.
  Request* receive_from_any() {
    MessageStatus outcome;
    Request* request = value_of(
        engine().receive_or_start(context(0), into(data), kAnySource, 5, outcome));
    EXPECT_NE(request, nullptr);
    return request;
  }
  void send_from(int rank) {
    ASSERT_TRUE(world.engine(rank).send(*contexts[static_cast<std::size_t>(rank)],
                                        from(pattern(8, 1)), 0, 5, SendMode::standard));
  }
  void expect_pending(Request* request) {
    ASSERT_TRUE(engine().wait(*request));
    EXPECT_FALSE(request->is_done());
    const auto failure = Engine::pending_failure(*request);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->error_class(), ErrorClass::proc_failed_pending);
  }
  void complete(Request* request) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->error(), nullptr);
    engine().release(request);
  }
};

TEST_F(FailedMembers, AreListedInTheOrderOfDetection) {
  EXPECT_TRUE(engine().failed_members(context(0)).empty());
  world.kill(2);
  EXPECT_EQ(engine().failed_members(context(0)), std::vector{2});
  world.kill(1);
  EXPECT_EQ(engine().failed_members(context(0)), (std::vector{2, 1}));
}

TEST_F(FailedMembers, LeaveAnAnySourceReceivePending) {
  Request* request = receive_from_any();
  world.kill(2);
  expect_pending(request);
  send_from(1);
  complete(request);
}

TEST_F(FailedMembers, LeaveALaterAnySourceReceivePending) {
  world.kill(2);
  EXPECT_EQ(engine().failed_members(context(0)).size(), 1u);
  Request* request = receive_from_any();
  expect_pending(request);
  send_from(3);
  complete(request);
}

TEST_F(FailedMembers, AreIgnoredOnceAcknowledged) {
  Request* request = receive_from_any();
  world.kill(2);
  expect_pending(request);
  EXPECT_TRUE(engine().has_unacknowledged_failures());
  EXPECT_EQ(engine().acknowledge_failed(context(0), 0), 0);
  EXPECT_TRUE(request->has_settled());
  EXPECT_EQ(engine().acknowledge_failed(context(0), 7), 1);
  EXPECT_FALSE(engine().has_unacknowledged_failures());
  EXPECT_FALSE(request->has_settled());
  EXPECT_FALSE(Engine::pending_failure(*request));
  world.kill(3);  // a further failure
  expect_pending(request);
  send_from(1);
  complete(request);
}

TEST_F(FailedMembers, FailBlockingReceivesAndProbes) {
  world.kill(2);
  EXPECT_EQ(engine().failed_members(context(0)).size(), 1u);
  const auto received = engine().recv(context(0), into(data), kAnySource, 5);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().error_class(), ErrorClass::proc_failed);
  const auto probed = engine().iprobe(context(0), kAnySource, 5);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().error_class(), ErrorClass::proc_failed);
}

TEST_F(FailedMembers, DoNotPreventReceiptOfAnArrivedMessage) {
  send_from(1);
  world.step();
  world.kill(2);
  EXPECT_EQ(engine().failed_members(context(0)).size(), 1u);
  EXPECT_TRUE(engine().recv(context(0), into(data), kAnySource, 5));
}

TEST_F(FailedMembers, AreReportedByTheMemberThatDetectsThemFirst) {
  Request* request = receive_from_any();
  world.alive(2) = false;
  EXPECT_EQ(world.engine(1).failed_members(*contexts[1]).size(), 1u);  // notifies the other members
  ASSERT_TRUE(world.step_until([&] { return request->has_settled(); }));
  EXPECT_TRUE(Engine::pending_failure(*request));
  send_from(1);
  complete(request);
}

TEST_F(FailedMembers, WatchReportsADeath) {
  Engine::Watched living{{0, 1}}, dying{{0, 2}};
  engine().watch(living);
  engine().watch(dying);
  world.kill(2);
  EXPECT_TRUE(value_of(engine().wait_until([&] { return engine().is_gone(dying); },
                                           base::Deadline::after_seconds(30))));
  EXPECT_FALSE(engine().is_gone(living));
  engine().unwatch(living);
  engine().unwatch(dying);
}

}  // namespace
}  // namespace shim::p2p
