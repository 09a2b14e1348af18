// SPDX-License-Identifier: BSD-3-Clause
// Tests Rendezvous without an engine.
#include "shim/p2p/rendezvous.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Shares no copies, and runs on enough cores.
class ReadsAlone final : public CopySharing, public CoreLoad, public PeerFailures {
 public:
  bool is_for_two(const ReceiveRequest&, bool) const override { return false; }
  bool begin(ReceiveRequest&) override { return false; }
  State copy(ReceiveRequest&) override { return State::over; }
  void give_up(Peer&) override {}
  void stop(ReceiveRequest&) override {}
  bool is_oversubscribed() const override { return false; }
  void fail_link(Peer& from, const base::Error&) override { failed.push_back(&from); }
  void on_send_error(Peer&, const base::Error&) override {}
  std::vector<const Peer*> failed;
};

constexpr std::size_t kLongBytes = 3000;

/// A link to process 1, a long message to it and one from it.
struct RendezvousPart : testing::Test {
  RendezvousPart() {
    transport.connect(one);
    ends.forget = [this](ReceiveRequest& request) { part.forget(request); };
    message.fill(std::byte{7});
  }
  ~RendezvousPart() override {
    if (receive.peer != nullptr) ends.end(receive, {}, std::nullopt);
    one.streams.clear();
  }
  /// Return the announcement of a message from process 1 whose data is in `message`.
  MessageInfo announced() const {
    return {.kind = wire::PacketType::ready_to_send,
            .source = 1,
            .tag = 5,
            .bytes = kLongBytes,
            .number = 77,
            .address = reinterpret_cast<std::uintptr_t>(message.data())};
  }
  std::optional<wire::ClearToSend> asked() { return output.take<wire::ClearToSend>(one); }
  void data(std::uint64_t id, std::uint64_t offset, std::size_t bytes) {
    wire::Data header;
    header.receive = id;
    header.offset = offset;
    part.on_data(header, transport::ConstSpan(message).subspan(0, bytes));
  }

  std::array<std::byte, kLongBytes> message, buffer{};
  StubTransport transport;
  Peer one{{0, 1}};
  IdTable<SendRequest> send_ids;
  RecordedOutput output;
  RecordedEnds ends;
  ReadsAlone others;
  Engine::Counts counts;
  Rendezvous part{{.single_copy = true,
                   .log = nullptr,
                   .send_ids = send_ids,
                   .output = output,
                   .routes = output,
                   .operations = ends,
                   .failures = others,
                   .sharing = others,
                   .load = others,
                   .counts = counts}};
  ReceiveRequest receive{nullptr, {}, {buffer.data(), kLongBytes, &types::byte_type()}};
  SendRequest send{
      nullptr, {}, {message.data(), kLongBytes, &types::byte_type()}, SendMode::standard};
};

TEST_F(RendezvousPart, AnnouncementHasAddressLengthAndId) {
  send.peer = &one;
  const wire::ReadyToSend announcement = part.announce(send);
  EXPECT_EQ(announcement.bytes, kLongBytes);
  EXPECT_EQ(announcement.address, reinterpret_cast<std::uintptr_t>(message.data()));
  EXPECT_EQ(send_ids.find(announcement.number), &send);
  EXPECT_TRUE(send.awaits_reply);
  EXPECT_EQ(counts.rendezvous_sent, 1u);
  part.forget(send);
}

TEST_F(RendezvousPart, ReceiverReadsMessageAndAnswers) {
  transport.reading = transport::Attempt::done;
  part.begin(receive, announced(), one);
  EXPECT_EQ(buffer, message);
  EXPECT_THAT(ends.receives, ElementsAre(&receive));
  EXPECT_EQ(receive.outcome().bytes, kLongBytes);
  const auto answer = output.take<wire::Finished>(one);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, wire::PacketType::finished);
  EXPECT_EQ(answer->send, 77u);
}

TEST_F(RendezvousPart, ReadThatMustWaitGoesOnInLaterRound) {
  transport.reading = transport::Attempt::again;
  part.begin(receive, announced(), one);
  EXPECT_TRUE(part.has_reads());
  EXPECT_EQ(part.read_some(), 0);
  transport.reading = transport::Attempt::done;
  EXPECT_EQ(part.read_some(), 1);
  EXPECT_EQ(buffer, message);
  EXPECT_FALSE(part.has_reads());
}

TEST_F(RendezvousPart, MemoryThatCannotBeReadIsRequestedAsPackets) {
  part.begin(receive, announced(), one);
  const auto wanted = asked();
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->send, 77u);
  EXPECT_EQ(wanted->bytes, kLongBytes);
  EXPECT_FALSE(one.can_read);
  data(wanted->receive, 1000, 2000);
  EXPECT_THAT(ends.receives, IsEmpty());
  data(wanted->receive, 0, 1000);
  EXPECT_THAT(ends.receives, ElementsAre(&receive));
  EXPECT_EQ(buffer, message);
}

TEST_F(RendezvousPart, PacketsThatDoNotFitAreStale) {
  part.begin(receive, announced(), one);
  const auto wanted = asked();
  ASSERT_TRUE(wanted);
  data(wanted->receive, 2000, 1001);
  data(wanted->receive + 1, 0, 1000);
  EXPECT_EQ(counts.stale_dropped, 2u);
  EXPECT_EQ(receive.received, 0u);
}

TEST_F(RendezvousPart, PayloadIsPlacedInReceiveBuffer) {
  part.begin(receive, announced(), one);
  wire::Data header;
  header.receive = asked()->receive;
  header.offset = 100;
  const auto bytes = wire::bytes_of(header);
  const auto placed = part.place(bytes, bytes.size() + 50);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->payload.data(), buffer.data() + 100);
  EXPECT_EQ(placed->payload.size(), 50u);
  part.on_placed(bytes, 50);
  EXPECT_EQ(receive.received, 50u);
}

TEST_F(RendezvousPart, EndedReceiveGetsNoData) {
  part.begin(receive, announced(), one);
  const auto wanted = asked();
  ASSERT_TRUE(wanted);
  ends.end(receive, {}, std::nullopt);
  data(wanted->receive, 0, 1000);
  EXPECT_EQ(counts.stale_dropped, 1u);
  EXPECT_EQ(buffer[0], std::byte{0});
}

TEST_F(RendezvousPart, SenderStreamsRequestedBytes) {
  send.peer = &one;
  wire::ClearToSend wanted;
  wanted.send = part.announce(send).number;
  wanted.receive = 9;
  wanted.offset = 1000;
  wanted.bytes = 2000;
  part.on_clear_to_send(wanted);
  EXPECT_EQ(send.offset, 1000u);
  EXPECT_EQ(send.end, 3000u);
  EXPECT_EQ(&one.streams.front(), &send);
  EXPECT_THAT(output.pushed, ElementsAre(&one));
  part.on_clear_to_send(wanted);
  EXPECT_EQ(output.pushed.size(), 1u) << "the message is streamed already";
}

TEST_F(RendezvousPart, RequestBeyondMessageIsStale) {
  send.peer = &one;
  wire::ClearToSend wanted;
  wanted.send = part.announce(send).number;
  wanted.offset = 1000;
  wanted.bytes = 2001;
  part.on_clear_to_send(wanted);
  EXPECT_EQ(counts.stale_dropped, 1u);
  EXPECT_FALSE(send.streaming);
}

TEST_F(RendezvousPart, ReceiveFromFailedSenderEnds) {
  one.failure = base::Error(base::ErrorClass::proc_aborted, "has died");
  part.begin(receive, announced(), one);
  EXPECT_THAT(ends.receives, ElementsAre(&receive));
  EXPECT_EQ(receive.error()->text(), "has died");
}

TEST_F(RendezvousPart, MessageLongerThanBufferFillsItAndIsAnError) {
  transport.reading = transport::Attempt::done;
  MessageInfo longer = announced();
  longer.bytes = kLongBytes + 1;
  part.begin(receive, longer, one);
  EXPECT_EQ(buffer, message);
  EXPECT_EQ(receive.error()->error_class(), base::ErrorClass::truncate);
}

}  // namespace
}  // namespace shim::p2p
