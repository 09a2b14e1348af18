// SPDX-License-Identifier: BSD-3-Clause
// Tests revoked communicators: all operations on them end at all members, and do not access buffers
// afterwards.
#include "tests/p2p/ended_operations.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;
using Reads = transport::LoopFaults::Reads;

class Revocation : public EndedOperations {
 protected:
  static constexpr int kTag = 1;
  void revoke(int rank) { world.engine(rank).revoke(context(rank)); }
  bool is_revoked(int rank) { return world.engine(rank).is_revoked(context(rank)); }
  Request* receive(int rank, Data& data, int source) {
    return EndedOperations::receive(rank, data, source, kTag, Plane::user);
  }
  Request* send(int rank, const Data& data, int dest) {
    return EndedOperations::send(rank, data, dest, kTag, Plane::user);
  }
  void expect_revoked(int rank, Request* request) {
    expect_error(rank, request, ErrorClass::revoked);
  }
  template <typename T>
  static void expect_refused(const T& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error_class(), ErrorClass::revoked);
  }
};

TEST_P(Revocation, ReachesAllMembers) {
  revoke(1);
  EXPECT_TRUE(is_revoked(1));
  EXPECT_TRUE(world.step_until([&] { return is_revoked(0) && is_revoked(2); }));
}

TEST_P(Revocation, EndsReceivesAndSendsThatHaveNotMatched) {
  Data one(8), any(8);
  const Data sent = pattern(100'000, 1);
  Request* requests[] = {receive(0, one, 1), receive(0, any, kAnySource), send(0, sent, 2)};
  world.step();
  revoke(1);
  for (Request* request : requests) expect_revoked(0, request);
}

TEST_P(Revocation, EndsATransferInProgress) {
  Request* sending = nullptr;
  ASSERT_NO_FATAL_FAILURE(end_under_way(
      kTag, Plane::user, [&] { revoke(0); }, sending));
  expect_revoked(1, sending);
}

// The receiver has read the announcement before it learns of the revocation. It must not read the
// buffer after the sender's caller may write to it again.
TEST_P(Revocation, KeepsASendUntilItsReceiverHasResponded) {
  const Data sent = pattern(50'000, 1);
  Data received(sent.size());
  Request* sending = send(1, sent, 0);
  ASSERT_TRUE(world.engine(0).progress());
  revoke(1);
  auto outcome = world.engine(0).recv(context(0), into(received), 1, 1);
  EXPECT_TRUE(!outcome || received == sent);
  expect_revoked(1, sending);
}

TEST_P(Revocation, RefusesLaterOperations) {
  revoke(0);
  Data data = pattern(8, 1), much = pattern(50'000, 1);
  ASSERT_TRUE(world.step_until([&] { return is_revoked(1); }));
  for (int rank : {0, 1}) {
    Engine& engine = world.engine(rank);
    for (const Data& sent : {data, much})
      expect_refused(engine.send(context(rank), from(sent), 2, 1, SendMode::standard));
    EXPECT_FALSE(engine.send_at_once(context(rank), from(data), 2, 1));
    expect_refused(engine.recv(context(rank), into(data), 2, 1));
    expect_refused(engine.recv(context(rank), into(data), kAnySource, 1));
    expect_refused(engine.iprobe(context(rank), 2, 1));
    expect_refused(
        engine.isend(context(rank), from(data), 2, 1, SendMode::standard, Plane::collective));
  }
}

TEST_P(Revocation, DropsArrivedMessages) {
  const Data little = pattern(8, 1), much = pattern(50'000, 1);
  ASSERT_TRUE(world.engine(1).send(context(1), from(little), 0, 1, SendMode::standard));
  Request* sending = send(1, much, 0);
  for (int i = 0; i < 3; ++i) world.step();
  const auto matched = value_of(world.engine(0).improbe(context(0), 1, 1));
  ASSERT_TRUE(matched);
  revoke(0);
  Data received(8);
  expect_refused(world.engine(0).mrecv(matched->message, into(received)));
  expect_revoked(1, sending);
}

// The receiver has revoked and freed the communicator when it reads the announcement.
TEST_P(Revocation, EndsASendWhoseReceiverHasFreedTheCommunicator) {
  const Data much = pattern(50'000, 1), little = pattern(8, 2);
  Request* sending = send(1, much, 0);
  Request* synchronous = value_of(
      world.engine(1).isend(context(1), from(little), 0, kTag, SendMode::synchronous));
  revoke(0);
  contexts[0].reset();
  expect_revoked(1, sending);
  expect_revoked(1, synchronous);
}

// The sender learns that its message was dropped before it learns of the revocation.
TEST_P(Revocation, EndsASendWhoseMessageWasDropped) {
  const Data much = pattern(50'000, 1);
  Request* sending = send(1, much, 0);
  contexts[0].reset();
  for (int i = 0; i < 10; ++i) world.step();
  EXPECT_FALSE(sending->is_done());
  revoke(2);
  expect_revoked(1, sending);
}

TEST_P(Revocation, DoesNotAffectOtherCommunicators) {
  const std::vector<ContextPtr> others = world.contexts(*base::ContextPath{}.child(1));
  revoke(0);
  const Data sent = pattern(50'000, 1);
  Data received(sent.size());
  ASSERT_TRUE(world.step_until([&] { return is_revoked(1); }));
  Request* receiving = value_of(world.engine(0).irecv(*others[0], into(received), 1, 1));
  Request* sending = value_of(
      world.engine(1).isend(*others[1], from(sent), 0, 1, SendMode::standard));
  ASSERT_TRUE(world.step_until([&] { return receiving->is_done() && sending->is_done(); }));
  EXPECT_EQ(received, sent);
  world.engine(0).release(receiving);
  world.engine(1).release(sending);
}

TEST_P(Revocation, ReachesACommunicatorCreatedLater) {
  const base::ContextPath path = *base::ContextPath{}.child(1);
  ContextPtr mine = world.context(0, path);
  world.engine(0).revoke(*mine);
  for (int i = 0; i < 10; ++i) world.step();
  ContextPtr later = world.context(1, path);
  EXPECT_TRUE(world.engine(1).is_revoked(*later));
}

// The communicator is created after two notices; the second ends more operations.
TEST_P(Revocation, ReachesACommunicatorCreatedLaterAfterAFailureNotice) {
  const base::ContextPath path = *base::ContextPath{}.child(1);
  ContextPtr first = world.context(0, path), second = world.context(2, path);
  world.engine(0).fail_collectives(*first, base::Error(ErrorClass::proc_aborted, "it has died"));
  for (int i = 0; i < 10; ++i) world.step();
  world.engine(2).revoke(*second);
  for (int i = 0; i < 10; ++i) world.step();
  ContextPtr later = world.context(1, path);
  EXPECT_TRUE(world.engine(1).is_revoked(*later));
}

INSTANTIATE_TEST_SUITE_P(Transfers, Revocation,
                         testing::Values(Reads::work, Reads::unsupported, Reads::offered),
                         [](const auto& test) {
                           return test.param == Reads::work      ? "ReadFromMemory"
                                  : test.param == Reads::offered ? "Offered"
                                                                 : "InPackets";
                         });

}  // namespace
}  // namespace shim::p2p
