// SPDX-License-Identifier: BSD-3-Clause
// Tests Output without an engine.
#include "shim/p2p/output.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::Attempt;

/// Records the links that a part asks for, and those that it reports.
class RecordedLinks final : public RouteRequests, public PeerFailures {
 public:
  void request_route(Peer& to) override { routes.push_back(&to); }
  void fail_link(Peer&, const base::Error&) override {}
  void on_send_error(Peer& to, const base::Error&) override { broken.push_back(&to); }
  std::vector<const Peer*> routes, broken;
};

/// A link to process 1, and a send to it.
struct OutputPart : testing::Test {
  OutputPart() {
    transports.add(transport);
    transport.connect(one);
    send.header.kind = wire::PacketType::eager_numbered;
    start_send();
  }
  ~OutputPart() override {
    one.streams.clear();
    one.unfinished.clear();
  }
  void start_send() {
    send.peer = &one;
    one.unfinished.push_back(send);
  }
  void transmit_message() { packets().transmit(one, wire::NumberedEager{send.header, 7}, &send); }
  /// Return the part as other parts see it.
  PacketOutput& packets() { return part; }
  std::vector<wire::PacketType> sent() const {
    std::vector<wire::PacketType> kinds;
    for (const transport::Bytes& packet : transport.sent)
      kinds.push_back(static_cast<wire::PacketType>(packet[0]));
    return kinds;
  }

  Transports transports;
  StubTransport transport;
  Peer one{{0, 1}};
  RecordedLinks links;
  RecordedEnds ends;
  Engine::Counts counts;
  Output part{{.self = {0, 0},
               .transports = transports,
               .routes = links,
               .operations = ends,
               .failures = links,
               .counts = counts}};
  std::array<std::byte, 3000> data{};
  SendRequest send{
      nullptr, {}, {data.data(), data.size(), &types::byte_type()}, SendMode::standard};
};

TEST_F(OutputPart, PacketLeavesAtOnceAndEndsItsSend) {
  transmit_message();
  EXPECT_THAT(sent(), ElementsAre(wire::PacketType::eager_numbered));
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_FALSE(part.has_waiting());
}

TEST_F(OutputPart, SendThatAwaitsAnswerGoesOn) {
  send.awaits_reply = true;
  transmit_message();
  EXPECT_EQ(transport.sent.size(), 1u);
  EXPECT_THAT(ends.sends, IsEmpty());
}

TEST_F(OutputPart, PacketsLeaveInOrderOnceThereIsSpace) {
  transport.attempt = Attempt::again;
  transmit_message();
  EXPECT_TRUE(part.has_waiting());
  transport.attempt = Attempt::done;
  packets().transmit(one, wire::Finished());
  EXPECT_THAT(sent(), IsEmpty()) << "the packet waits behind the first one";
  EXPECT_EQ(part.push_all(), 2);
  EXPECT_THAT(sent(), ElementsAre(wire::PacketType::eager_numbered, wire::PacketType::finished));
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_FALSE(part.has_waiting());
}

TEST_F(OutputPart, PacketWithoutLinkAsksForRoute) {
  one.drop_link();
  transmit_message();
  EXPECT_THAT(links.routes, ElementsAre(&one));
  EXPECT_FALSE(part.has_waiting());
  EXPECT_EQ(part.push(one), 0);
  transport.connect(one);
  part.resume(one);
  EXPECT_TRUE(part.has_waiting());
  EXPECT_EQ(part.push_all(), 1);
}

TEST_F(OutputPart, PacketToFailedPeerIsDropped) {
  one.failure = base::Error(base::ErrorClass::proc_aborted, "has died");
  transmit_message();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(one.queue.empty());
}

TEST_F(OutputPart, ErrorOfLinkIsReported) {
  transport.fails = true;
  transmit_message();
  EXPECT_THAT(links.broken, ElementsAre(&one));
}

TEST_F(OutputPart, QueueStopsWhenPollIsDue) {
  transport.attempt = Attempt::again;
  constexpr int kPackets = 2000;
  for (int i = 0; i < kPackets; ++i) packets().transmit(one, wire::Finished());
  transport.attempt = Attempt::done;
  const int pushed = part.push_all();
  EXPECT_GT(pushed, 100);
  EXPECT_LT(pushed, kPackets);
  EXPECT_TRUE(part.has_waiting());
}

TEST_F(OutputPart, StreamLeavesInDataPackets) {
  send.streaming = true;
  send.end = data.size();
  one.streams.push_back(send);
  part.push_data(one);
  EXPECT_THAT(sent(),
              ElementsAre(wire::PacketType::data, wire::PacketType::data, wire::PacketType::data));
  EXPECT_EQ(send.offset, data.size());
  EXPECT_THAT(ends.sends, ElementsAre(&send));
}

TEST_F(OutputPart, LongControlMessageIsSplit) {
  part.queue_control(one, std::vector<std::byte>(1500));
  EXPECT_THAT(sent(), ElementsAre(wire::PacketType::control, wire::PacketType::control));
  EXPECT_EQ(wire::read<wire::Control>(transport.sent[1])->offset,
            transport.max_packet_bytes() - sizeof(wire::Control));
  EXPECT_EQ(counts.control_sent, 1u);
  EXPECT_EQ(counts.control_bytes, 1500u);
}

}  // namespace
}  // namespace shim::p2p
