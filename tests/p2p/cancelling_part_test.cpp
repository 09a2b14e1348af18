// SPDX-License-Identifier: BSD-3-Clause
// Tests Cancelling without an engine.
#include "shim/p2p/cancelling.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Answers a cancel request to this process itself when it is delivered.
class AnsweringDelivery final : public SelfDelivery {
 public:
  bool deliver_to_self(Peer&) override { return ++calls < 3 || deliver(); }
  std::function<bool()> deliver = [] { return false; };
  int calls = 0;
};

struct CancellingPart : testing::Test {
  CancellingPart() { contexts.add(context); }
  ~CancellingPart() override {
    if (send.peer != nullptr) ends.end(send, std::nullopt);
    contexts.remove(context);
  }
  /// Complete an eager send of message 7 to this rank.
  void send_eagerly(int rank) {
    send.receiver = &peers.at(context, rank);
    send.number = 7;
    send.header.kind = wire::PacketType::eager_numbered;
    send.complete({});
  }
  /// Return the request of rank 1 to cancel message 7 to this process.
  wire::Cancel wanted() const {
    wire::Cancel made;
    made.message = wire::PacketType::eager_numbered;
    made.source = 1;
    made.context = context.id;
    made.number = 7;
    made.send = 99;
    made.rank = 1;
    return made;
  }
  StoredMessage* store(std::uint64_t number) {
    StoredMessage* stored = unexpected.keep(
        {.kind = wire::PacketType::eager_numbered, .source = 1, .number = number}, Plane::user);
    context.matching(Plane::user).add(*stored);
    return stored;
  }

  ToldRouter router;
  Transports transports;
  StubTransport transport;
  ContextTable contexts;
  Peers peers;
  IdTable<SendRequest> send_ids;
  RecordedOutput output;
  RecordedEnds ends;
  AnsweringDelivery delivery;
  Engine::Counts counts;
  UnexpectedMessages unexpected{{0, 0}, 1 << 20, peers, output, counts};
  Cancelling part{{.self = {0, 0},
                   .router = &router,
                   .may_match_in_provider = false,
                   .transports = transports,
                   .contexts = contexts,
                   .peers = peers,
                   .send_ids = send_ids,
                   .unexpected = unexpected,
                   .output = output,
                   .operations = ends,
                   .delivery = delivery}};
  Context context{nullptr, spec_of(3)};
  SendRequest send{
      nullptr, {&context, 1, 1}, {nullptr, 0, &types::byte_type()}, SendMode::standard};
};

TEST_F(CancellingPart, CompletedSendIsOpenUntilReceiverAnswers) {
  send_eagerly(1);
  part.cancel(send);
  EXPECT_FALSE(send.is_done());
  const auto asked = output.take<wire::Cancel>(*send.receiver);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->number, 7u);
  part.on_cancelled_reply({.send = asked->send});
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_TRUE(send.outcome().cancelled);
}

TEST_F(CancellingPart, SecondCancelDoesNothing) {
  send_eagerly(1);
  part.cancel(send);
  output.sent.clear();
  part.cancel(send);
  EXPECT_THAT(output.sent, IsEmpty());
}

TEST_F(CancellingPart, MatchedSendIsNotCancelled) {
  send_eagerly(1);
  send.header.kind = wire::PacketType::eager_synchronous;
  part.cancel(send);
  EXPECT_TRUE(send.is_done());
  EXPECT_THAT(output.sent, IsEmpty());
}

TEST_F(CancellingPart, SendToReceiverThatHasLeftStaysSent) {
  send_eagerly(1);
  part.cancel(send);
  part.complete_abandoned();
  EXPECT_THAT(ends.sends, IsEmpty());
  router.left = {1};
  part.complete_abandoned();
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_FALSE(send.outcome().cancelled);
}

TEST_F(CancellingPart, SendToThisProcessIsDecidedAtOnce) {
  send_eagerly(0);
  send.receiver->transport = &transport;
  delivery.deliver = [&] {
    part.on_cancelled_reply({.send = send.id});
    return true;
  };
  part.cancel(send);
  EXPECT_TRUE(send.is_done());
  EXPECT_EQ(delivery.calls, 3);
}

TEST_F(CancellingPart, ReceiverDropsTheMessageOfThisNumberOnly) {
  StoredMessage* other = store(6);
  store(7);
  part.on_cancel(wanted());
  const auto answer = output.take<wire::Cancelled>(peers.at(context, 1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, wire::PacketType::cancelled);
  EXPECT_EQ(answer->send, 99u);
  EXPECT_EQ(context.matching(Plane::user).first_unexpected(), other);
  context.matching(Plane::user).remove(*other);
}

TEST_F(CancellingPart, ReceiverThatHasMatchedTheMessageAnswersSo) {
  part.on_cancel(wanted());
  const auto answer = output.take<wire::Finished>(peers.at(context, 1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, wire::PacketType::finished);
}

TEST_F(CancellingPart, ReceiverFindsMessageForCommunicatorThatDoesNotExistYet) {
  wire::Cancel early = wanted();
  early.context = Context(nullptr, spec_of(3, 200)).id;
  StoredMessage* held = unexpected.keep(
      {.kind = wire::PacketType::eager_numbered, .source = 1, .number = 7}, Plane::user);
  contexts.hold(early.context, *held);
  part.on_cancel(early);
  const auto answer = output.take<wire::Cancelled>(peers.at(context, 1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, wire::PacketType::cancelled);
}

}  // namespace
}  // namespace shim::p2p
