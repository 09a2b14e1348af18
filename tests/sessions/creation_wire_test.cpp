// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_wire.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/sessions/damaged_messages.hpp"

namespace shim::sessions {
namespace {

CreationKey key(std::string tag) {
  return {"scope", std::move(tag), {{0, 0, 4, 1}, {0, 9, 3, -2}}, "grid 7"};
}

constexpr std::uint32_t kProcesses = 64;

MemberTable entries() {
  const std::array<std::byte, 2> address = {std::byte{1}, std::byte{2}};
  MemberTable table(0, {.context_base = 7});
  table.set(3, {.context_base = 8, .incarnation = 9, .address = address});
  return table;
}

std::vector<CreationMessage> samples() {
  return {ContributionMessage{key("a"), entries()},
          OutcomeMessage{key("b"), {5, 6}, 3, entries()},
          FailureMessage{key("c"),
                         3,
                         base::ErrorClass::not_same,
                         "they disagree",
                         {{{0, 2, 1, 1}}, {{0, 3, 1, 1}}}},
          StatusRequest{key("d"), 5, 1000, {2, {std::byte{1}, std::byte{2}}}},
          ReturnedContribution{key("h"), 7, 2},
          StatusReply{key("e"), true, {key("f"), key("g")}, "nobody", 31'000}};
}

TEST(CreationWire, EveryMessageRoundTrips) {
  for (const auto& message : samples()) {
    const auto bytes = encode(message);
    const auto back = decode(bytes, kProcesses);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->index(), message.index());
    EXPECT_EQ(encode(*back), bytes);
  }
  const auto answer = std::get<StatusReply>(*decode(encode(samples().back()), kProcesses));
  EXPECT_TRUE(answer.several_threads);
  EXPECT_EQ(answer.waiting, (std::vector{key("f"), key("g")}));
  const auto outcome = std::get<OutcomeMessage>(*decode(encode(samples()[1]), kProcesses));
  EXPECT_EQ(outcome.entries, entries());
  EXPECT_EQ(outcome.id, (base::ExtendedId{5, 6}));
  EXPECT_EQ(outcome.vci, 3);
}

TEST(CreationWire, KeysDifferInEveryPart) {
  const CreationKey one{"s", "t", {{0, 0, 4, 1}}, "grid 4"};
  const CreationKeyHash hash;
  EXPECT_EQ(hash(one), hash(CreationKey{"s", "t", {{0, 0, 4, 1}}, "grid 4"}));
  for (const CreationKey& other :
       {CreationKey{"st", "", {{0, 0, 4, 1}}, "grid 4"},
        CreationKey{"t", "s", {{0, 0, 4, 1}}, "grid 4"},
        CreationKey{"s", "u", {{0, 0, 4, 1}}, "grid 4"},
        CreationKey{"s", "t", {{0, 0, 4, 2}}, "grid 4"},
        CreationKey{"s", "t", {{0, 0, 4, 1}}, "grid 2x2"}, CreationKey{"s", "t", {{0, 0, 4, 1}}}}) {
    EXPECT_NE(one, other);
    EXPECT_NE(bytes_of(one), bytes_of(other));
    EXPECT_NE(hash(one), hash(other)) << "equal hashes would be correct, but slow";
  }
}

TEST(CreationWire, TruncatedMessagesAreRejected) {
  for (const auto& message : samples()) {
    const auto bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode(std::span(bytes).first(length), kProcesses).has_value())
          << "kind " << message.index() << " cut to " << length;
    auto longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(longer, kProcesses).has_value());
  }
}

TEST(CreationWire, DamagedMessagesNeverCrash) {
  std::mt19937 random(1);
  for (const auto& message : samples()) {
    for_each_damaged(encode(message), random, [](const auto& damaged) {
      if (auto decoded = decode(damaged, kProcesses))
        encode(*decoded);  // a decoded message must be valid, whatever it is
    });
  }
}

TEST(CreationWire, RangesOutsideTheWorldAreRefused) {
  for (ProcessRange bad : {ProcessRange{0, 0, 0, 1}, ProcessRange{0, 2, 4, -1},
                           ProcessRange{0, 0x80000000u, 1, 1}, ProcessRange{0, 1, 0x7fffffff, 2}}) {
    const StatusRequest request{{"", "t", {bad}}};
    EXPECT_FALSE(decode(encode(request), kProcesses).has_value());
  }
}

}  // namespace
}  // namespace shim::sessions
