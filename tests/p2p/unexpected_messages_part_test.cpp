// SPDX-License-Identifier: BSD-3-Clause
// Tests UnexpectedMessages without an engine.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "shim/p2p/unexpected_messages.hpp"
#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

constexpr base::ProcessId kSelf{0, 0}, kSender{0, 1};

struct UnexpectedMessagesPart : testing::Test {
  StoredMessage* keep(const MessageInfo& info) { return messages.keep(info, Plane::user); }
  MessageInfo message() const {
    return {.tag = 5,
            .bytes = payload.size(),
            .payload = payload,
            .origin = wire::SenderNumber::of(kSender)};
  }
  bool is_flow(wire::PacketType kind) {
    const auto flow = output.take<wire::Flow>(peers.at(kSender));
    return flow && flow->kind == kind && flow->rank == kSelf.rank;
  }
  static constexpr std::size_t kBytes = 4096;
  std::array<std::byte, kBytes> payload{std::byte{7}};
  Peers peers;
  RecordedOutput output;
  Engine::Counts counts;
  /// space for three messages, but not for four
  UnexpectedMessages messages{kSelf, 4 * kBytes, peers, output, counts};
};

TEST_F(UnexpectedMessagesPart, KeepsACopyOfTheData) {
  StoredMessage* kept = keep(message());
  payload.fill(std::byte{0});
  EXPECT_EQ(kept->tag, 5);
  ASSERT_EQ(kept->info.payload.size(), kBytes);
  EXPECT_EQ(kept->info.payload[0], std::byte{7});
  messages.free(*kept);
  EXPECT_EQ(counts.unexpected, 1u);
  EXPECT_TRUE(output.sent.empty());
}

TEST_F(UnexpectedMessagesPart, ThrottlesSenderOnceAboveLimitAndReleasesItBelowHalf) {
  std::array<StoredMessage*, 5> kept;
  for (int i = 0; i < 3; ++i) kept[static_cast<std::size_t>(i)] = keep(message());
  EXPECT_TRUE(output.sent.empty());
  kept[3] = keep(message());
  EXPECT_TRUE(is_flow(wire::PacketType::throttle));
  kept[4] = keep(message());
  EXPECT_TRUE(output.sent.empty()) << "the sender is throttled already";
  EXPECT_EQ(counts.throttled, 1u);
  for (std::size_t i = 0; i < 3; ++i) messages.free(*kept[i]);
  EXPECT_TRUE(output.sent.empty()) << "two messages use more than half the limit";
  messages.free(*kept[3]);
  EXPECT_TRUE(is_flow(wire::PacketType::unthrottle));
  messages.free(*kept[4]);
  EXPECT_TRUE(output.sent.empty());
}

TEST_F(UnexpectedMessagesPart, ThrottlesNoUnknownSender) {
  MessageInfo unknown = message();
  unknown.origin = {};
  for (int i = 0; i < 5; ++i) keep(unknown);
  EXPECT_TRUE(output.sent.empty());
}

}  // namespace
}  // namespace shim::p2p
