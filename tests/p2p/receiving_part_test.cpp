// SPDX-License-Identifier: BSD-3-Clause
// Tests Receiving without an engine.
#include "shim/p2p/receiving.hpp"

#include <gmock/gmock.h>

#include <memory>

#include "shim/p2p/receiving_fast_path.hpp"
#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records what other parts do with messages and receives.
class RecordedParts final : public LongReceives, public ProviderPosting, public MessageRefusal {
 public:
  void begin(ReceiveRequest& request, const MessageInfo&, Peer& from) override {
    request.peer = &from;
    from.incoming.push_back(request);
    begun.push_back(&request);
  }
  void forget(ReceiveRequest& request) override {
    Peer& from = *std::exchange(request.peer, nullptr);
    from.incoming.erase(from.incoming.iterator_to(request));
    forgotten.push_back(&request);
  }
  bool may_match(Context&, int, Plane) override { return matches; }
  bool start(ReceiveRequest& request) override {
    if (!matches) return false;
    request.with_provider = true;
    request.address.context->retain();
    return true;
  }
  void add_posted(ReceiveRequest&) override {}
  void remove_posted(ReceiveRequest&) override {}
  void detach(ReceiveRequest& request) override { request.with_provider = false; }
  void cancel(ReceiveRequest& request) override { cancelled.push_back(&request); }
  bool drain_for_probe(Context&, int) override { return ++drains != 0; }
  void refuse(const MessageInfo& info) override { refused.push_back(info.tag); }

  bool matches = false;
  std::vector<const ReceiveRequest*> begun, forgotten, cancelled;
  std::vector<int> refused;
  int drains = 0;
};

/// A communicator of three processes at rank 0, and a link to rank 1.
struct ReceivingPart : testing::Test, transport::Sink {
  ReceivingPart() {
    contexts.add(context);
    transports.add(transport);
    transport.connect(one);
    part = make(false);
  }
  ~ReceivingPart() override {
    for (ReceiveRequest* each : {&receive, &second}) part->abandon(*each);
    while (UnexpectedMsg* message = context.matching(Plane::user).first_unexpected()) {
      context.matching(Plane::user).remove(*message);
      unexpected.free(static_cast<StoredMessage&>(*message));
    }
    contexts.remove(context);
  }
  std::unique_ptr<Receiving> make(bool may_match_in_provider) {
    return std::make_unique<Receiving>(
        Receiving::Collaborators{.self = {0, 0},
                                 .may_match_in_provider = may_match_in_provider,
                                 .sink = *this,
                                 .transports = transports,
                                 .contexts = contexts,
                                 .peers = peers,
                                 .unexpected = unexpected,
                                 .output = output,
                                 .long_receives = others,
                                 .provider = others,
                                 .refusals = others,
                                 .counts = counts});
  }
  /// Pass a whole message to the part, as the engine does.
  bool on_packet(transport::ConstSpan arriving) override {
    WholeMessage message;
    return read_whole(arriving, message) && part->on_whole_message(message);
  }
  /// Return a message of 8 bytes, each of which is `value`.
  transport::Bytes packet(int tag, std::uint8_t value, int source = 1) const {
    const auto header = wire::Eager::of(wire::PacketType::eager, wire::SenderNumber::of({0, 1}),
                                        source, context.id, tag, 8);
    const auto bytes = wire::bytes_of(header);
    transport::Bytes whole(bytes.begin(), bytes.end());
    whole.resize(whole.size() + 8, std::byte{value});
    return whole;
  }
  void arrive(int tag, std::uint8_t value, int source = 1) {
    on_packet(packet(tag, value, source));
  }
  /// Handle a message whose sender waits for an answer.
  void arrive_synchronous(int tag) {
    wire::NumberedEager header{
        wire::Eager::of(wire::PacketType::eager_synchronous, wire::SenderNumber::of({0, 1}), 1,
                        context.id, tag, 0),
        77};
    part->on_answered_message(wire::EagerWords::of(wire::bytes_of(header)), info_of(header, {}),
                              context.id);
  }
  types::Buffer space() { return {&word, sizeof word, &types::byte_type()}; }
  static constexpr std::uint64_t all(std::uint8_t value) { return value * 0x0101010101010101u; }

  std::uint64_t word = 0;
  StubTransport transport;
  Transports transports;
  ContextTable contexts;
  Peers peers;
  RecordedOutput output;
  RecordedParts others;
  Engine::Counts counts;
  UnexpectedMessages unexpected{{0, 0}, 1 << 20, peers, output, counts};
  std::unique_ptr<Receiving> part;
  Context context{nullptr, spec_of(3)};
  Peer& one = peers.at(context, 1);
  ReceiveRequest receive{nullptr, {&context, 1, 5}, space()};
  ReceiveRequest second{nullptr, {&context, kAnySource, kAnyTag}, space()};
};

TEST_F(ReceivingPart, PostedReceiveGetsItsMessage) {
  ASSERT_TRUE(part->start(receive));
  EXPECT_TRUE(receive.posted);
  arrive(6, 1);
  EXPECT_FALSE(receive.is_done());
  arrive(5, 2);
  EXPECT_TRUE(receive.is_done());
  EXPECT_EQ(word, all(2));
  EXPECT_EQ(receive.outcome().bytes, 8u);
  EXPECT_EQ(counts.posted_matches, 1u);
  EXPECT_EQ(counts.unexpected, 1u);
}

TEST_F(ReceivingPart, StoredMessageIsTaken) {
  arrive(5, 3);
  EXPECT_EQ(part->find_message(context, 1, 6), nullptr);
  ASSERT_NE(part->find_message(context, kAnySource, kAnyTag), nullptr);
  ASSERT_TRUE(part->start(receive));
  EXPECT_TRUE(receive.is_done());
  EXPECT_EQ(word, all(3));
  EXPECT_EQ(part->find_message(context, 1, 5), nullptr);
}

TEST_F(ReceivingPart, ProbedMessageLeavesMatching) {
  arrive(5, 3);
  StoredMessage* const message = part->find_message(context, 1, 5);
  ASSERT_NE(message, nullptr);
  Receiving::take_message(context, *message);
  EXPECT_EQ(part->find_message(context, 1, 5), nullptr);
  part->start_matched(receive, *message);
  EXPECT_TRUE(receive.is_done());
  EXPECT_EQ(word, all(3));
}

TEST_F(ReceivingPart, ReceiveOnFastPathPollsForItsMessage) {
  transport.arriving = {packet(5, 4)};
  transport.packets = 1;
  base::Result<MessageStatus> received(kNoMessage);
  const MessageAddress from{&context, 1, 5};
  const types::Buffer into = space();
  ExpectedRecv expected{from, into, received};
  EXPECT_TRUE(part->may_take_fast_path(expected));
  EXPECT_TRUE(part->poll_for(expected, 1));
  EXPECT_EQ(word, all(4));
  ASSERT_TRUE(received);
  EXPECT_EQ(received->source, 1);
}

TEST_F(ReceivingPart, MessageThatNeedsAnswerIsLeftToSlowPath) {
  base::Result<MessageStatus> received(kNoMessage);
  const MessageAddress from{&context, 1, 5};
  const types::Buffer into = space();
  ExpectedRecv expected{from, into, received};
  transport.on_poll = [this] { arrive_synchronous(5); };
  transport.packets = 1;
  EXPECT_FALSE(part->poll_for(expected, 1));
  EXPECT_FALSE(expected.can_retry);
  ASSERT_TRUE(part->start(receive));
  EXPECT_TRUE(receive.is_done());
  EXPECT_EQ(output.take<wire::Finished>(one)->send, 77u);
}

TEST_F(ReceivingPart, FastPathBypassesNoReceiveAndNoMessage) {
  base::Result<MessageStatus> received(kNoMessage);
  const MessageAddress from{&context, 1, 5};
  const types::Buffer into = space();
  const ExpectedRecv expected{from, into, received};
  arrive(5, 1);
  EXPECT_FALSE(part->may_take_fast_path(expected));
  ASSERT_TRUE(part->start(receive));
  EXPECT_TRUE(part->may_take_fast_path(expected));
  ASSERT_TRUE(part->start(second));
  EXPECT_FALSE(part->may_take_fast_path(expected));
}

TEST_F(ReceivingPart, RoundIsDueNowAndThen) {
  int rounds = 0;
  for (int i = 0; i < 10 * Receiving::kMaxFastPathsInARow; ++i)
    rounds += part->is_round_due_after_fast_paths() ? 1 : 0;
  EXPECT_EQ(rounds, 10);
}

TEST_F(ReceivingPart, LongMessageIsReceivedByAnotherPart) {
  ASSERT_TRUE(part->start(receive));
  wire::ReadyToSend header{};
  header.message = wire::Eager::of(wire::PacketType::ready_to_send, wire::SenderNumber::of({0, 1}),
                                   1, context.id, 5, 0);
  header.bytes = 1'000'000;
  part->on_answered_message(wire::EagerWords::of(wire::bytes_of(header)), info_of(header, {}),
                            context.id);
  EXPECT_THAT(others.begun, ElementsAre(&receive));
  part->end(receive, {}, std::nullopt);
  EXPECT_THAT(others.forgotten, ElementsAre(&receive));
}

TEST_F(ReceivingPart, MessageLongerThanBufferIsError) {
  ReceiveRequest shorter{nullptr, {&context, 1, 5}, {&word, 4, &types::byte_type()}};
  ASSERT_TRUE(part->start(shorter));
  arrive(5, 9);
  ASSERT_NE(shorter.error(), nullptr);
  EXPECT_EQ(shorter.error()->error_class(), base::ErrorClass::truncate);
  EXPECT_EQ(word, 0x09090909u);
}

TEST_F(ReceivingPart, CancelledReceiveEndsUnlessProviderHasIt) {
  ASSERT_TRUE(part->start(receive));
  part->cancel(receive);
  EXPECT_TRUE(receive.outcome().cancelled);
  part = make(true);
  others.matches = true;
  ASSERT_TRUE(part->start(second));
  EXPECT_FALSE(second.posted);
  part->cancel(second);
  EXPECT_THAT(others.cancelled, ElementsAre(&second));
  EXPECT_FALSE(second.is_done());
}

TEST_F(ReceivingPart, MessageOfRevokedCommunicatorIsRefused) {
  context.is_revoked = true;
  arrive(5, 1);
  EXPECT_THAT(others.refused, ElementsAre(5));
  EXPECT_EQ(counts.unexpected, 0u);
}

TEST_F(ReceivingPart, MessageFromUnknownRankIsStale) {
  arrive(5, 1, 3);
  EXPECT_EQ(counts.stale_dropped, 1u);
  EXPECT_EQ(counts.unexpected, 0u);
}

TEST_F(ReceivingPart, FreedReceivesAreKnownUntilTheyEnd) {
  ReceiveRequest* const freed = part->make(nullptr, MessageAddress{&context, 1, 5}, space());
  ASSERT_TRUE(part->start(*freed));
  part->record_freed(*freed);
  EXPECT_FALSE(part->has_no_freed());
  EXPECT_FALSE(part->has_no_freed(context));
  EXPECT_TRUE(part->has_no_freed(Context(nullptr, spec_of(2, 200))));
  arrive(5, 1);
  part->free(*freed);
  EXPECT_TRUE(part->has_no_freed());
}

TEST_F(ReceivingPart, ReceiveFromThisProcessAloneIsNotRecorded) {
  ReceiveRequest* const freed = part->make(nullptr, MessageAddress{&context, 0, 5}, space());
  ASSERT_TRUE(part->start(*freed));
  part->record_freed(*freed);
  EXPECT_TRUE(part->has_no_freed());
  part->abandon(*freed);
  part->free(*freed);
}

}  // namespace
}  // namespace shim::p2p
