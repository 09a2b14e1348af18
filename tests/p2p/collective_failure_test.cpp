// SPDX-License-Identifier: BSD-3-Clause
// Tests that collectives which fail at one member fail at all members, and do not access buffers
// afterwards.
#include "tests/p2p/ended_operations.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;
using Reads = transport::LoopFaults::Reads;

base::Error death() { return {ErrorClass::proc_aborted, "process 9 has died"}; }

class CollectiveFailure : public EndedOperations {
 protected:
  void fail(int rank, const base::Error& reason = death()) {
    world.engine(rank).fail_collectives(context(rank), reason);
  }
  bool has_failed(int rank) { return Engine::collectives_have_failed(context(rank)); }
  Request* receive(int rank, Data& data, int source, int tag = 0, Plane plane = Plane::collective) {
    return EndedOperations::receive(rank, data, source, tag, plane);
  }
  Request* send(int rank, const Data& data, int dest, int tag = 0,
                Plane plane = Plane::collective) {
    return EndedOperations::send(rank, data, dest, tag, plane);
  }
  void expect_error(int rank, Request* request, ErrorClass wanted = ErrorClass::proc_aborted) {
    EndedOperations::expect_error(rank, request, wanted);
  }
};

TEST_P(CollectiveFailure, EndsReceivesOfTheOtherMembers) {
  Data data(8);
  Request* waiting = receive(0, data, 1);
  fail(2);
  expect_error(0, waiting);
  EXPECT_TRUE(world.step_until([&] { return has_failed(1); }));
}

TEST_P(CollectiveFailure, GivesTheOtherMembersTheClassOfTheError) {
  Data data(8);
  Request* waiting = receive(0, data, 1);
  fail(2, {ErrorClass::no_mem, "no memory"});
  ASSERT_TRUE(world.step_until([&] { return waiting->is_done(); }));
  EXPECT_NE(waiting->error()->text().find(
                "rank 2 failed in a collective of this communicator (MPI_ERR_NO_MEM)"),
            std::string::npos)
      << waiting->error()->text();
  expect_error(0, waiting, ErrorClass::no_mem);
}

TEST_P(CollectiveFailure, DoesNotAffectUserMessagesOrPartitions) {
  Data sent = pattern(50'000, 1), received(sent.size()), part(sent.size());
  Request* user = receive(0, received, 1, 3, Plane::user);
  Request* partition = receive(0, part, 1, kFirstPartitionTag + 1);
  fail(2);
  ASSERT_TRUE(world.step_until([&] { return has_failed(0) && has_failed(1); }));
  Request* sends[] = {send(1, sent, 0, 3, Plane::user), send(1, sent, 0, kFirstPartitionTag + 1)};
  for (Request* request : {user, partition}) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->error(), nullptr);
    world.engine(0).release(request);
  }
  ASSERT_TRUE(world.step_until([&] { return sends[0]->is_done() && sends[1]->is_done(); }));
  for (Request* request : sends) world.engine(1).release(request);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(part, sent);
}

TEST_P(CollectiveFailure, WritesNothingIntoAReceiveBufferAfterwards) {
  Request* sending = nullptr;
  ASSERT_NO_FATAL_FAILURE(end_under_way(
      0, Plane::collective, [&] { fail(0); }, sending));
  world.engine(1).release(sending);
}

TEST_P(CollectiveFailure, EndsSendsAtOnceAndTheirReceivesFail) {
  const Data sent = pattern(8'000'000, 1);
  Data received(sent.size());
  Request* receiving = receive(0, received, 1);
  Request* sending = send(1, sent, 0);
  for (int i = 0; i < 3; ++i) world.step();
  ASSERT_FALSE(sending->is_done());
  fail(1);
  EXPECT_TRUE(sending->is_done());
  world.engine(1).release(sending);
  expect_error(0, receiving);
}

// The receiver reads the whole message before it learns that the sender had released the buffer.
TEST_P(CollectiveFailure, IsDetectedByReceiversThatReadAReleasedBuffer) {
  const Data sent = pattern(50'000, 1);
  Data received(sent.size());
  Request* sending = send(1, sent, 0);
  fail(1);
  EXPECT_TRUE(sending->is_done());
  EXPECT_TRUE(world.engine(1).has_sent_failure_notices());
  world.engine(1).release(sending);
  Request* receiving = receive(0, received, 1);
  while (!receiving->is_done()) ASSERT_TRUE(world.engine(0).progress());
  EXPECT_FALSE(receiving->error() == nullptr && world.engine(0).confirm_reads(context(0)));
  world.engine(0).release(receiving);
}

TEST_P(CollectiveFailure, FailsLaterOperations) {
  fail(0);
  Data data = pattern(50'000, 1);
  EXPECT_FALSE(world.engine(0).irecv(context(0), into(data), 1, 0, Plane::collective));
  EXPECT_FALSE(world.engine(0).recv(context(0), into(data), 1, 0, Plane::collective));
  EXPECT_FALSE(
      world.engine(0).isend(context(0), from(data), 1, 0, SendMode::standard, Plane::collective));
  WaitFor subject("a store");
  EXPECT_FALSE(world.engine(0).wait_for(
      context(0), 1, [] { return false; }, subject));
  ASSERT_TRUE(world.engine(0).send(context(0), {data.data(), 8, &kByte}, 1, 0, SendMode::standard));
}

TEST_P(CollectiveFailure, ReachesACommunicatorCreatedLater) {
  const base::ContextPath path = *base::ContextPath{}.child(1);
  ContextPtr mine = world.context(0, path);
  world.engine(0).fail_collectives(*mine, death());
  for (int i = 0; i < 10; ++i) world.step();
  ContextPtr later = world.context(1, path);
  EXPECT_TRUE(Engine::collectives_have_failed(*later));
}

TEST_P(CollectiveFailure, FollowsTheDeathOfAnyMember) {
  Data data(8);
  Request* waiting = receive(0, data, 1);
  world.kill(2);
  auto waited = world.engine(0).wait(*waiting);
  ASSERT_TRUE(waited);
  EXPECT_NE(waiting->error()->text().find("process 2 "), std::string::npos)
      << waiting->error()->text();
  expect_error(0, waiting);
  // rank 1 learns of the failure although it does not wait
  EXPECT_TRUE(world.step_until([&] { return has_failed(1); }));
}

TEST_P(CollectiveFailure, DoesNotFollowAMemberThatFinalizes) {
  Data data(8), sent = pattern(8, 1);
  Request* waiting = receive(0, data, 1);
  world.leave(2);
  ASSERT_FALSE(*world.engine(0).wait_until([&] { return waiting->is_done(); },
                                           base::Deadline::after_seconds(0.25)));
  ASSERT_TRUE(
      world.engine(1).send(context(1), from(sent), 0, 0, SendMode::standard, Plane::collective));
  ASSERT_TRUE(world.engine(0).wait(*waiting));
  EXPECT_EQ(data, sent);
  world.engine(0).release(waiting);
}

struct Refusal : CollectiveFailure {
  static constexpr std::uint8_t kBarrier = 1, kBcast = 2;
  int call(int rank, std::uint8_t which) {
    const int tag = Engine::numbers_of(context(rank)).next(which);
    if (Engine::numbers_of(context(rank)).needs_call_check())
      world.engine(rank).check_call_number(context(rank), tag);
    return tag;
  }
  void refuse(int rank) {
    world.engine(rank).record_refusal(context(rank), false,
                                      {ErrorClass::count, "a count is negative"});
  }
  void step_often() {
    for (int i = 0; i < 100; ++i) world.step();
  }
};

TEST_P(Refusal, FailsCollectivesOnceTheMemberCallsAnotherOne) {
  Data data(8);
  for (int rank : {0, 1}) call(rank, kBarrier);
  Request* waiting = receive(0, data, 2);
  refuse(2);
  step_often();
  EXPECT_FALSE(waiting->is_done()) << "the member may still repeat the call";
  call(2, kBcast);
  ASSERT_TRUE(world.step_until([&] { return waiting->is_done(); }));
  EXPECT_NE(waiting->error()->text().find("rank 2 rejected a collective call"), std::string::npos)
      << waiting->error()->text();
  EXPECT_NE(waiting->error()->text().find("MPI_ERR_COUNT"), std::string::npos)
      << waiting->error()->text();
  expect_error(0, waiting, ErrorClass::other);
  for (int rank : {1, 2}) EXPECT_TRUE(world.step_until([&] { return has_failed(rank); })) << rank;
}

TEST_P(Refusal, FailsCollectivesThatOtherMembersCallLater) {
  refuse(2);
  call(2, kBcast);
  ASSERT_TRUE(world.step_until([&] { return Engine::numbers_of(context(0)).needs_call_check(); }));
  EXPECT_FALSE(has_failed(0));
  call(0, kBarrier);
  EXPECT_TRUE(has_failed(0));
}

TEST_P(Refusal, IsClearedOnceTheMemberRepeatsTheCall) {
  for (int rank : {0, 1}) call(rank, kBarrier);
  refuse(2);
  refuse(2);
  EXPECT_EQ(call(2, kBarrier), 0) << "a refused call does not use up its sequence number";
  step_often();
  for (int rank : {0, 1, 2}) {
    EXPECT_FALSE(has_failed(rank));
    EXPECT_FALSE(Engine::numbers_of(context(rank)).needs_call_check());
  }
}

TEST_P(Refusal, OfAllMembersIsCleared) {
  for (int rank : {0, 1, 2}) {
    refuse(rank);
    call(rank, kBcast);
    step_often();
  }
  for (int rank : {0, 1, 2}) {
    EXPECT_FALSE(has_failed(rank));
    EXPECT_FALSE(Engine::numbers_of(context(rank)).needs_call_check());
  }
}

INSTANTIATE_TEST_SUITE_P(Reads, Refusal, testing::Values(Reads::work));

INSTANTIATE_TEST_SUITE_P(Reads, CollectiveFailure,
                         testing::Values(Reads::work, Reads::unsupported, Reads::offered));

TEST(CollectiveNumbers, LastingTagsDifferFromOtherAndPartitionTags) {
  CollectiveNumbers turns;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(turns.next(1), i);
    EXPECT_EQ(turns.next_persistent(1), static_cast<int>(CollectiveNumbers::kTags) + i);
  }
  EXPECT_LT(static_cast<int>(CollectiveNumbers::kTags | (CollectiveNumbers::kPersistentTags - 1)),
            kFirstPartitionTag);
}

// More members than one process notifies directly: they forward the notice.
TEST(CollectiveFailureOfMany, ReachesAllMembers) {
  World world{{.processes = 100}};
  std::vector<ContextPtr> contexts = world.contexts();
  world.engine(7).fail_collectives(*contexts[7], death());
  for (const ContextPtr& context : contexts)
    EXPECT_TRUE(
        world.step_until([&] { return Engine::collectives_have_failed(*context).load(); }, 1000));
}

}  // namespace
}  // namespace shim::p2p
