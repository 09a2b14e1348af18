// SPDX-License-Identifier: BSD-3-Clause
// Tests the death of a process: dependent operations fail and name it, others continue.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class Failure : public testing::TestWithParam<transport::LoopFaults::Reads> {
 protected:
  World world{{.processes = 3, .faults = {.reads = GetParam()}}};
  std::vector<ContextPtr> contexts = world.contexts();
  Engine& engine = world.engine(0);

  void expect_gone(Request* request, int rank = 1) {
    auto waited = engine.wait(*request);
    ASSERT_TRUE(waited) << waited.error().text();
    ASSERT_NE(request->error(), nullptr);
    EXPECT_EQ(request->error()->error_class(), ErrorClass::proc_aborted);
    EXPECT_EQ(request->outcome().error, ErrorClass::proc_aborted);
    EXPECT_NE(request->error()->text().find("process " + std::to_string(rank)), std::string::npos)
        << request->error()->text();
    engine.release(request);
  }
};

TEST_P(Failure, ReceiveFromTheDeadProcessFails) {
  Data data(8);
  Request* pending[] = {
      value_of(engine.irecv(*contexts[0], into(data), 1, 3)),
      value_of(engine.irecv(*contexts[0], into(data), 1, kAnyTag, Plane::collective))};
  world.kill(1);
  for (Request* request : pending) expect_gone(request);
  auto later = engine.recv(*contexts[0], into(data), 1, 3);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().error_class(), ErrorClass::proc_aborted);
}

TEST_P(Failure, ProbesFail) {
  world.kill(1);
  auto probed = engine.probe(*contexts[0], 1, 3);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().error_class(), ErrorClass::proc_aborted);
  EXPECT_FALSE(engine.iprobe(*contexts[0], 1, 3));
  EXPECT_TRUE(engine.iprobe(*contexts[0], 2, 3));
}

TEST_P(Failure, SendsFail) {
  Data data = pattern(50'000, 1);
  Request* unfinished[] = {
      value_of(engine.isend(*contexts[0], from(data), 1, 3, SendMode::standard)),
      value_of(engine.isend(*contexts[0], {data.data(), 8, &kByte}, 1, 3, SendMode::synchronous))};
  world.kill(1);
  for (Request* request : unfinished) expect_gone(request);
  auto later = engine.send(*contexts[0], {data.data(), 8, &kByte}, 1, 3, SendMode::standard);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().error_class(), ErrorClass::proc_aborted);
}

TEST_P(Failure, PartlyReceivedMessageFails) {
  Data sent = pattern(8'000'000, 1), received(sent.size());
  Request* receive = value_of(engine.irecv(*contexts[0], into(received), 1, 3));
  Request* send = value_of(
      world.engine(1).isend(*contexts[1], from(sent), 0, 3, SendMode::standard));
  for (int i = 0; i < 3; ++i) world.step();
  ASSERT_FALSE(receive->is_done());
  world.kill(1);
  if (GetParam() == transport::LoopFaults::Reads::unsupported) {
    expect_gone(receive);
  } else {
    // memory of this program stays readable, so the message may still arrive complete
    ASSERT_TRUE(engine.wait(*receive));
    engine.release(receive);
  }
  world.engine(1).release(send);
}

TEST_P(Failure, DeliveredMessagesSurviveTheSendersDeath) {
  Data sent = pattern(100, 1), received(100);
  ASSERT_TRUE(world.engine(1).send(*contexts[1], from(sent), 0, 3, SendMode::standard));
  ASSERT_TRUE(engine.progress());
  world.kill(1);
  Data none(8);
  expect_gone(value_of(engine.irecv(*contexts[0], into(none), 1, 4)));
  value_of(engine.recv(*contexts[0], into(received), 1, 3));
  EXPECT_EQ(received, sent);
}

TEST_P(Failure, AnySourceFailsIfAllMembersFailed) {
  Data data(8), sent = pattern(8, 1);
  MessageStatus outcome;
  // as MPI_Irecv: stays pending after a failure
  const auto receive = [&] {
    return value_of(engine.receive_or_start(*contexts[0], into(data), kAnySource, 3, outcome));
  };
  Request* first = receive();
  world.kill(1);
  // another operation detects the death meanwhile
  expect_gone(value_of(engine.irecv(*contexts[0], into(data), 1, 4)));
  EXPECT_FALSE(first->is_done()) << "rank 2 may still send";
  ASSERT_TRUE(world.engine(2).send(*contexts[2], from(sent), 0, 3, SendMode::standard));
  ASSERT_TRUE(engine.wait_until([&] { return first->is_done(); }));
  EXPECT_EQ(data, sent);
  engine.release(first);

  Request* second = receive();
  world.kill(2);
  ASSERT_TRUE(engine.wait_until([&] { return second->is_done(); }));
  ASSERT_NE(second->error(), nullptr);
  EXPECT_EQ(second->error()->error_class(), ErrorClass::proc_aborted);
  engine.release(second);
}

// As between nodes, where only the transport can detect the death.
TEST_P(Failure, LinkAloneMayReportAPeerGone) {
  Data data(8), sent = pattern(50'000, 1);
  Request* receive = value_of(engine.irecv(*contexts[0], into(data), 1, 3));
  Request* unfinished = value_of(engine.isend(*contexts[0], from(sent), 1, 4, SendMode::standard));
  for (int i = 0; i < 3; ++i) world.step();
  world.network().lose(1);
  expect_gone(receive);
  expect_gone(unfinished);
}

// A lost message may have been for the any-source receive, and messages of other senders would hide
// the loss.
struct AnySourceAfterALoss : Failure {
  Data data = Data(8), sent = pattern(8, 1);
  Request* any = nullptr;

  /// Post a receive from any source, as MPI_Irecv: it stays pending after a failure.
  void post() {
    MessageStatus outcome;
    any = value_of(engine.receive_or_start(*contexts[0], into(data), kAnySource, 3, outcome));
  }
  void expect_loss() {
    ASSERT_TRUE(engine.wait_until([&] { return any->is_done(); }));
    ASSERT_NE(any->error(), nullptr);
    EXPECT_EQ(any->error()->error_class(), ErrorClass::proc_aborted);
    EXPECT_NE(any->error()->text().find("process 2 "), std::string::npos) << any->error()->text();
    engine.release(any);
    EXPECT_FALSE(engine.irecv(*contexts[0], into(data), kAnySource, 3))
        << "later any-source receives must fail, too";
    ASSERT_TRUE(world.engine(1).send(*contexts[1], from(sent), 0, 3, SendMode::standard));
    value_of(engine.recv(*contexts[0], into(data), 1, 3));
    EXPECT_EQ(data, sent);
  }
};

TEST_P(AnySourceAfterALoss, EndsAnySourceReceivesAlthoughAllProcessesLive) {
  ASSERT_TRUE(engine.send(*contexts[0], from(sent), 2, 3, SendMode::standard));  // opens the link
  post();
  world.network().cut_off(2);
  expect_loss();
}

TEST_P(AnySourceAfterALoss, EndsWithoutALinkToThePeer) {
  post();
  world.network().cut_off(2);
  expect_loss();
}

TEST_P(AnySourceAfterALoss, EndsIfASendFailsFirst) {
  ASSERT_TRUE(engine.send(*contexts[0], from(sent), 2, 3, SendMode::standard));
  post();
  world.network().cut_off(2);
  EXPECT_FALSE(engine.send(*contexts[0], from(sent), 2, 3, SendMode::standard));
  expect_loss();
}

TEST_P(AnySourceAfterALoss, EndsIfThePeerSeemedDeadFirst) {
  ASSERT_TRUE(engine.send(*contexts[0], from(sent), 2, 3, SendMode::standard));
  post();
  world.network().lose(2);
  expect_gone(value_of(engine.irecv(*contexts[0], into(data), 2, 4)), 2);
  EXPECT_FALSE(any->is_done());
  world.network().cut_off(2);
  expect_loss();
}

TEST_P(Failure, AnySourceFailsIfMembersAreDeadOrUnreachable) {
  Data data(8), sent = pattern(8, 1);
  ASSERT_TRUE(engine.send(*contexts[0], from(sent), 1, 3, SendMode::standard));  // opens the link
  Request* any = value_of(engine.irecv(*contexts[0], into(data), kAnySource, 3));
  world.network().lose(1);
  world.kill(2);
  ASSERT_TRUE(engine.wait(*any));
  ASSERT_NE(any->error(), nullptr);
  EXPECT_EQ(any->error()->error_class(), ErrorClass::proc_aborted);
  engine.release(any);
}

TEST_P(Failure, OtherProcessesContinue) {
  world.kill(1);
  Data none(8), sent = pattern(40'000, 1), received(40'000);
  expect_gone(value_of(engine.irecv(*contexts[0], into(none), 1, 4)));
  Request* send = value_of(
      world.engine(2).isend(*contexts[2], from(sent), 0, 3, SendMode::standard));
  Request* receive = value_of(engine.irecv(*contexts[0], into(received), 2, 3));
  ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
  EXPECT_EQ(received, sent);
  world.engine(2).release(send);
  engine.release(receive);
}

TEST_P(Failure, RestartedProcessIsANewPeer) {
  world.alive(1) = false;  // it finalized; its transport serves the next incarnation
  Data data(8), sent = pattern(8, 1);
  expect_gone(value_of(engine.irecv(*contexts[0], into(data), 1, 4)));
  world.alive(1) = true;
  EXPECT_FALSE(engine.send(*contexts[0], from(sent), 1, 3, SendMode::standard))
      << "the old communicator stays broken";
  auto fresh = world.contexts({}, 200);
  ASSERT_TRUE(engine.send(*fresh[0], from(sent), 1, 3, SendMode::standard));
  value_of(world.engine(1).recv(*fresh[1], into(data), 0, 3));
  EXPECT_EQ(data, sent);
}

using transport::LoopFaults;
INSTANTIATE_TEST_SUITE_P(Reads, AnySourceAfterALoss, testing::Values(LoopFaults::Reads::work));
INSTANTIATE_TEST_SUITE_P(Reads, Failure,
                         testing::Values(LoopFaults::Reads::work, LoopFaults::Reads::unsupported,
                                         LoopFaults::Reads::offered));

}  // namespace
}  // namespace shim::p2p
