// SPDX-License-Identifier: BSD-3-Clause
// Tests Sending without an engine.
#include "shim/p2p/sending.hpp"

#include <gmock/gmock.h>

#include "shim/p2p/peers.hpp"
#include "shim/p2p/sending_fast_path.hpp"
#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records the sends that are announced, and counts polls.
class RecordedAnnouncements final : public LongSends, public TransportPolling {
 public:
  wire::ReadyToSend announce(SendRequest& request) override {
    announced.push_back(&request);
    request.is_long = true;
    request.header.kind = wire::PacketType::ready_to_send;
    return {request.header, request.number, request.data.bytes(), 0, 0};
  }
  void forget(SendRequest& request) override {
    request.is_long = false;
    forgotten.push_back(&request);
  }
  int poll_all(base::Status&) override { return ++polls; }
  std::vector<const SendRequest*> announced, forgotten;
  int polls = 0;
};

/// A communicator of three processes at rank 0, and a link to rank 1.
struct SendingPart : testing::Test {
  SendingPart() {
    transport.connect(one);
    limits.set(one);
  }
  ~SendingPart() override {
    if (send.peer != nullptr) part.end(send, std::nullopt, false);
  }
  types::ConstBuffer bytes(std::size_t count) const {
    return {data.data(), count, &types::byte_type()};
  }
  bool send_at_once(int rank, std::size_t count = 8) {
    return part.send_at_once(context, bytes(count), rank, 5, Plane::user);
  }
  wire::PacketType kind_of_last() const {
    return static_cast<wire::PacketType>(transport.sent.back()[0]);
  }

  base::Settings settings;
  EagerLimits limits{settings};
  StubTransport transport;
  Transports transports;
  Peers peers;
  IdTable<SendRequest> send_ids;
  RecordedOutput output;
  RecordedAnnouncements others;
  Engine::Counts counts;
  Sending part{{.self = {0, 0},
                .limits = limits,
                .transports = transports,
                .send_ids = send_ids,
                .output = output,
                .long_sends = others,
                .polling = others,
                .counts = counts}};
  Context context{nullptr, spec_of(3)};
  Peer& one = peers.at(context, 1);
  std::array<std::byte, 3000> data{};
  SendRequest send{nullptr, {&context, 1, 5}, bytes(100), SendMode::standard};
  SendRequest long_send{nullptr, {&context, 1, 5}, bytes(data.size()), SendMode::standard};
};

TEST_F(SendingPart, ShortMessageLeavesAtOnceWithShortHeader) {
  EXPECT_TRUE(send_at_once(1));
  EXPECT_EQ(kind_of_last(), wire::PacketType::eager_short);
  EXPECT_TRUE(send_at_once(1, 100));
  EXPECT_EQ(kind_of_last(), wire::PacketType::eager);
  EXPECT_EQ(counts.eager_sent, 2u);
}

TEST_F(SendingPart, MessageThatMayBeCancelledHasNumber) {
  InlineSent first, second;
  EXPECT_TRUE(part.send_at_once(context, bytes(100), 1, 5, first));
  EXPECT_EQ(kind_of_last(), wire::PacketType::eager_numbered);
  EXPECT_TRUE(part.send_at_once(context, bytes(100), 1, 5, second));
  EXPECT_EQ(second.number, first.number + 1);
  EXPECT_EQ(second.dest, 1);
  Request* const request = part.request_of(nullptr, context, second);
  EXPECT_TRUE(request->is_done());
  EXPECT_EQ(static_cast<SendRequest*>(request)->number, second.number);
  EXPECT_EQ(static_cast<SendRequest*>(request)->receiver, &one);
}

TEST_F(SendingPart, MessageThatCannotLeaveNowNeedsSlowPath) {
  EXPECT_FALSE(send_at_once(2)) << "no link";
  EXPECT_FALSE(send_at_once(1, data.size())) << "longer than one packet";
  transport.attempt = transport::Attempt::again;
  EXPECT_FALSE(send_at_once(1)) << "no space";
  transport.attempt = transport::Attempt::done;
  one.queue.emplace_back();
  EXPECT_FALSE(send_at_once(1)) << "a packet is queued";
  EXPECT_EQ(counts.eager_sent, 0u);
}

TEST_F(SendingPart, SenderPollsAfterManyMessages) {
  int messages = 0;
  while (others.polls == 0 && messages < 10'000) messages += send_at_once(1) ? 1 : 0;
  EXPECT_EQ(others.polls, 1);
  EXPECT_GT(messages, 100);
}

TEST_F(SendingPart, StartedSendIsTransmitted) {
  part.start(send, one);
  const auto header = output.take<wire::NumberedEager>(one);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->message.kind, wire::PacketType::eager_numbered);
  EXPECT_EQ(header->message.tag, 5);
  EXPECT_EQ(&one.unfinished.front(), &send);
  EXPECT_FALSE(send.awaits_reply);
  part.end(send, std::nullopt, false);
  EXPECT_TRUE(send.is_done());
  EXPECT_TRUE(one.unfinished.empty());
}

TEST_F(SendingPart, SynchronousSendEndsWithAnswer) {
  send.mode = SendMode::synchronous;
  part.start(send, one);
  const auto header = output.take<wire::NumberedEager>(one);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->message.kind, wire::PacketType::eager_synchronous);
  wire::Finished answer;
  answer.send = header->number + 1;
  part.on_finished(answer);
  EXPECT_FALSE(send.is_done());
  answer.send = header->number;
  part.on_finished(answer);
  EXPECT_TRUE(send.is_done());
  EXPECT_EQ(send_ids.find(header->number), nullptr);
}

TEST_F(SendingPart, RevokedSendEndsWithErrorAtAnswer) {
  send.mode = SendMode::synchronous;
  part.start(send, one);
  send.is_revoked = true;
  wire::Finished answer;
  answer.send = send.number;
  part.on_finished(answer);
  ASSERT_NE(send.error(), nullptr);
  EXPECT_EQ(send.error()->error_class(), base::ErrorClass::revoked);
}

TEST_F(SendingPart, LongMessageIsAnnounced) {
  part.start(long_send, one);
  EXPECT_THAT(others.announced, ElementsAre(&long_send));
  EXPECT_TRUE(output.take<wire::ReadyToSend>(one));
  part.abandon(long_send);
  EXPECT_THAT(others.forgotten, ElementsAre(&long_send));
  EXPECT_TRUE(one.unfinished.empty());
  EXPECT_FALSE(long_send.is_done());
}

TEST_F(SendingPart, ThrottledSenderAnnouncesAllMessagesAndQueuedOnes) {
  part.start(send, one);
  QueuedOutput& queued = one.queue.emplace_back();
  queued.request = &send;
  part.on_flow(one, wire::PacketType::throttle);
  EXPECT_TRUE(one.throttles_us);
  EXPECT_THAT(others.announced, ElementsAre(&send));
  EXPECT_EQ(queued.header_bytes, sizeof(wire::ReadyToSend));
  one.queue.clear();
  EXPECT_FALSE(send_at_once(1));
  part.on_flow(one, wire::PacketType::unthrottle);
  EXPECT_TRUE(send_at_once(1));
}

TEST_F(SendingPart, MessageWithCancelRequestKeepsItsKind) {
  part.start(send, one);
  send.cancel_requested = true;
  one.queue.emplace_back().request = &send;
  part.on_flow(one, wire::PacketType::throttle);
  EXPECT_THAT(others.announced, IsEmpty());
  one.queue.clear();
}

TEST_F(SendingPart, AbandonedSendLeavesQueue) {
  part.start(send, one);
  one.queue.emplace_back().request = &send;
  part.abandon(send);
  EXPECT_TRUE(one.queue.empty());
  EXPECT_EQ(send.peer, nullptr);
}

}  // namespace
}  // namespace shim::p2p
