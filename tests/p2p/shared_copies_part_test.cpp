// SPDX-License-Identifier: BSD-3-Clause
// Tests SharedCopies without an engine.
#include "shim/p2p/shared_copies.hpp"

#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = CopySharing::State;

/// Records which messages are read after all; processes outnumber cores if the test sets it.
class RecordedReads final : public ReadQueue, public CoreLoad, public PeerFailures {
 public:
  void read_now(ReceiveRequest& waiting) override {
    waiting.waits_for_shared_copy = false;
    read.push_back(&waiting);
  }
  bool is_oversubscribed() const override { return oversubscribed; }
  void fail_link(Peer&, const base::Error&) override {}
  void on_send_error(Peer&, const base::Error&) override {}
  std::vector<const ReceiveRequest*> read;
  bool oversubscribed = false;
};

constexpr std::size_t kMessageBytes = 256 * 1024;

/// Two long messages from process 1, which shares memory with this one, and one to it.
struct SharedCopiesPart : testing::Test {
  SharedCopiesPart() : message(kMessageBytes, std::byte{7}), buffer(kMessageBytes) {
    transport.copy = &descriptor;
    transport.reading = transport::Attempt::done;
    transport.connect(one);
    for (ReceiveRequest* each : {&receive, &second}) {
      each->peer = &one;
      each->wanted = kMessageBytes;
      each->remote_address = reinterpret_cast<std::uintptr_t>(message.data());
      one.incoming.push_back(*each);
    }
    send.peer = &one;
  }
  ~SharedCopiesPart() override { one.incoming.clear(); }
  /// Copy until there is nothing left to claim.
  State copy_all() {
    State state = State::moved;
    while (state == State::moved) state = part.copy(receive);
    return state;
  }
  std::optional<wire::Share> shared() { return output.take<wire::Share>(one); }

  std::vector<std::byte> message, buffer;
  ToldRouter router;
  StubTransport transport;
  transport::CooperativeCopy descriptor;
  Peer one{{0, 1}};
  IdTable<SendRequest> send_ids;
  RecordedOutput output;
  RecordedReads reads;
  Engine::Counts counts;
  PipedLog log;
  const WaitReporter reporter{{}, 1e-9, &router, log.log()};
  SharedCopies part{{.router = &router,
                     .send_ids = send_ids,
                     .output = output,
                     .failures = reads,
                     .reads = reads,
                     .load = reads,
                     .reporter = reporter,
                     .counts = counts}};
  ReceiveRequest receive{nullptr, {}, {buffer.data(), kMessageBytes, &types::byte_type()}};
  ReceiveRequest second{nullptr, {}, {buffer.data(), kMessageBytes, &types::byte_type()}};
  SendRequest send{
      nullptr, {}, {message.data(), kMessageBytes, &types::byte_type()}, SendMode::standard};
};

TEST_F(SharedCopiesPart, SharesLongMessagesWhileCoresAreIdle) {
  EXPECT_TRUE(part.is_for_two(receive, false));
  EXPECT_FALSE(part.is_for_two(receive, true)) << "this process sends, too";
  reads.oversubscribed = true;
  EXPECT_FALSE(part.is_for_two(receive, false));
  reads.oversubscribed = false;
  receive.wanted = 1000;
  EXPECT_FALSE(part.is_for_two(receive, false));
}

TEST_F(SharedCopiesPart, ReceiverAloneCopiesAllParts) {
  EXPECT_TRUE(part.begin(receive));
  EXPECT_TRUE(shared());
  EXPECT_EQ(copy_all(), State::over);
  EXPECT_EQ(buffer, message);
  EXPECT_EQ(receive.received, kMessageBytes);
  EXPECT_EQ(one.shared, nullptr);
}

TEST_F(SharedCopiesPart, ReceiverWaitsForPartsOfSender) {
  ASSERT_TRUE(part.begin(receive));
  const auto claimed = descriptor.claim(receive.generation);
  ASSERT_GT(claimed.count, 0u);
  ASSERT_EQ(copy_all(), State::waits);
  descriptor.report_written(receive.generation, claimed.count);
  EXPECT_EQ(part.copy(receive), State::over);
}

TEST_F(SharedCopiesPart, RefusedPartIsReadAlone) {
  ASSERT_TRUE(part.begin(receive));
  const auto claimed = descriptor.claim(receive.generation);
  ASSERT_EQ(copy_all(), State::waits);
  descriptor.report_refused(receive.generation, claimed.count);
  EXPECT_EQ(part.copy(receive), State::over);
  EXPECT_EQ(receive.received, 0u);
  EXPECT_FALSE(one.can_write);
}

TEST_F(SharedCopiesPart, NextMessageIsReadOnceCopyIsFree) {
  ASSERT_TRUE(part.begin(receive));
  second.waits_for_shared_copy = true;
  copy_all();
  EXPECT_THAT(reads.read, ElementsAre(&second));
  EXPECT_EQ(one.shared, &second);
}

TEST_F(SharedCopiesPart, StopReleasesCopyOfReceiveThatEndsEarly) {
  ASSERT_TRUE(part.begin(receive));
  part.stop(receive);
  EXPECT_EQ(one.shared, nullptr);
  EXPECT_EQ(descriptor.claim(receive.generation).count, 0u);
}

TEST_F(SharedCopiesPart, StopWaitsForClaimedPartAndReportsIt) {
  ASSERT_TRUE(part.begin(receive));
  const auto claimed = descriptor.claim(receive.generation);
  std::string report;
  std::thread sender([&] {  // as if stopped until the receiver has reported
    while (report.empty()) report = log.text();
    descriptor.report_written(receive.generation, claimed.count);
  });
  part.stop(receive);
  sender.join();
  EXPECT_THAT(report, testing::HasSubstr("for the sender of a message to finish its part"));
}

TEST_F(SharedCopiesPart, SenderWritesSharedPartsUnlessItReads) {
  ASSERT_TRUE(part.begin(receive));
  auto share = shared();
  ASSERT_TRUE(share);
  share->send = send_ids.add(send);
  part.on_share(*share);
  EXPECT_TRUE(part.has_writes());
  EXPECT_EQ(part.write_some(true), 0);
  while (part.write_some(false) != 0) continue;
  EXPECT_FALSE(part.has_writes());
  EXPECT_EQ(counts.parts_written, 8u);
  EXPECT_EQ(copy_all(), State::over);
  EXPECT_EQ(buffer, message);
}

TEST_F(SharedCopiesPart, ShareOfUnknownOrShorterMessageIsStale) {
  wire::Share share;
  share.send = 99;
  part.on_share(share);
  share.send = send_ids.add(send);
  share.bytes = kMessageBytes + 1;
  part.on_share(share);
  EXPECT_EQ(counts.stale_dropped, 2u);
  EXPECT_FALSE(part.has_writes());
}

}  // namespace
}  // namespace shim::p2p
