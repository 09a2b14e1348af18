// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/consensus_wire.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/sessions/damaged_messages.hpp"

namespace shim::sessions {
namespace {

constexpr std::uint32_t kJobSize = 64;

Decision decision() {
  Decision made;
  made.votes[3] = {5, {std::byte{1}, std::byte{2}}};
  made.votes[9] = {-1, {}};
  made.failed = {4, 7};
  made.has_unacknowledged = true;
  return made;
}

std::vector<ConsensusMessage> consensus_messages() {
  const ConsensusKey key{"1/2/3", 17};
  ConsensusMessage join{.kind = ConsensusMessage::Type::join, .key = key, .coordinator = 3};
  join.vote = {6, {std::byte{9}}, {4}, {4}};
  join.gone = {4, 7};
  ConsensusMessage later = join;
  later.proposed_by = 2;
  later.decision = decision();
  return {join,
          later,
          {.kind = ConsensusMessage::Type::new_coordinator, .key = key, .coordinator = 5},
          {.kind = ConsensusMessage::Type::propose,
           .key = key,
           .coordinator = 5,
           .decision = decision()},
          {.kind = ConsensusMessage::Type::accept, .key = key, .coordinator = 5},
          {.kind = ConsensusMessage::Type::decide,
           .key = key,
           .coordinator = 5,
           .decision = decision()},
          {.kind = ConsensusMessage::Type::done, .key = key, .coordinator = 5},
          {.kind = ConsensusMessage::Type::forget, .key = key, .coordinator = 5}};
}

TEST(ConsensusWire, EveryMessageRoundTrips) {
  for (const ConsensusMessage& message : consensus_messages()) {
    const auto bytes = encode(message);
    EXPECT_TRUE(is_of_consensus(bytes));
    const auto back = decode_consensus(bytes, kJobSize);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind, message.kind);
    EXPECT_EQ(back->key, message.key);
    EXPECT_EQ(encode(*back), bytes);
  }
}

TEST(ConsensusWire, TruncatedMessagesAreRejected) {
  for (const ConsensusMessage& message : consensus_messages()) {
    const auto bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_consensus(std::span(bytes).first(length), kJobSize));
    auto longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode_consensus(longer, kJobSize));
  }
}

TEST(ConsensusWire, MembersOutsideTheJobAreRefused) {
  for (const ConsensusMessage& message : consensus_messages())
    EXPECT_FALSE(decode_consensus(encode(message), 3));
}

TEST(ConsensusWire, DamagedMessagesNeverCrash) {
  std::mt19937 random(1);
  for (const ConsensusMessage& message : consensus_messages()) {
    for_each_damaged(encode(message), random, [](const auto& damaged) {
      if (auto decoded = decode_consensus(damaged, kJobSize))
        encode(*decoded);  // a decoded message must be valid, whatever it is
    });
  }
}

}  // namespace
}  // namespace shim::sessions
