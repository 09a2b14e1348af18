// SPDX-License-Identifier: BSD-3-Clause
// Tests messages of up to 8 bytes, which have a short header, and messages that do not fit it.
#include <limits>

#include "shim/p2p/wire.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

/// Many ranks: one belongs to the receiver's process, all others to the sender's.
class ManyRanks : public Members {
 public:
  static constexpr int kSize = 70'000, kReceiver = 1;
  int size() const override { return kSize; }
  base::ProcessId at(int rank) const override { return {0, rank == kReceiver ? 1u : 0u}; }
};

ContextPtr context_of(Engine& engine, int own_rank, std::uint32_t base, std::uint32_t path) {
  auto bases = std::make_shared<ContextBases>();
  bases->common = base;
  return engine.make_context({std::make_shared<ManyRanks>(), own_rank, bases, base, {path}});
}

class ShortMessages : public testing::Test, protected TwoEngines {
 protected:
  void SetUp() override {  // inline sends require an open link
    Data data(1);
    ASSERT_TRUE(sender.send(*contexts[0], from(data), 1, 0, SendMode::standard));
    ASSERT_TRUE(receiver.recv(*contexts[1], into(data), 0, 0));
  }
  InlineSent send(Context& context, const Data& data, int dest, int tag) {
    InlineSent inline_sent;
    EXPECT_EQ(value_of(sender.send_or_start(context, from(data), dest, tag, SendMode::standard,
                                            inline_sent)),
              nullptr);
    return inline_sent;
  }
  InlineSent send(std::uint32_t value, int tag) {
    return send(*contexts[0], pattern(8, value), 1, tag);
  }
  void expect(std::uint32_t value, int tag) {
    Data buffer(8);
    ASSERT_TRUE(receiver.recv(*contexts[1], into(buffer), 0, tag));
    EXPECT_EQ(buffer, pattern(8, value));
  }
  void cancel(const InlineSent& inline_sent, bool is_cancelled) {
    Request* request = sender.request_of(*contexts[0], inline_sent);
    ASSERT_TRUE(Engine::cancel(*request));
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->outcome().cancelled, is_cancelled);
    Engine::release(request);
  }
};

TEST_F(ShortMessages, ArriveWithTheirLengthSourceTagAndContext) {
  std::uint32_t number = 0, base = 60'000;
  for (std::uint32_t path : {1u, 0x7fffu, 0x8000u, 0x7fff'ffffu}) {
    for (int source : {0, 2, 65'535, 65'536, ManyRanks::kSize - 1}) {
      base += 1'000;
      const ContextPtr here = context_of(sender, source, base, path),
                       there = context_of(receiver, ManyRanks::kReceiver, base, path);
      Data first(1);
      ASSERT_TRUE(sender.send(*here, from(first), ManyRanks::kReceiver, 0, SendMode::standard));
      ASSERT_TRUE(receiver.recv(*there, into(first), source, 0));
      for (std::size_t bytes = 0; bytes <= 10; ++bytes) {
        for (int tag : {0, 1, std::numeric_limits<int>::max()}) {
          for (bool may_be_cancelled : {false, true}) {
            const Data data = pattern(bytes, ++number);
            if (may_be_cancelled)
              send(*here, data, ManyRanks::kReceiver, tag);
            else
              ASSERT_TRUE(sender.send_at_once(*here, from(data), ManyRanks::kReceiver, tag));
            Data buffer(bytes);
            const auto got = receiver.recv(*there, into(buffer),
                                           number % 2 == 0 ? source : kAnySource, kAnyTag);
            ASSERT_TRUE(got) << got.error().text();
            EXPECT_EQ(buffer, data);
            EXPECT_EQ(got->source, source);
            EXPECT_EQ(got->tag, tag);
            EXPECT_EQ(got->bytes, bytes);
          }
        }
      }
    }
  }
}

TEST_F(ShortMessages, CancelAffectsOnlyTheGivenMessage) {
  ASSERT_TRUE(sender.send_at_once(*contexts[0], from(pattern(8, 1)), 1, 3));
  send(2, 3);
  const InlineSent third = send(3, 3);
  send(4, 3);
  cancel(third, true);
  for (std::uint32_t value : {1u, 2u, 4u}) expect(value, 3);
  EXPECT_FALSE(*receiver.iprobe(*contexts[1], 0, 3));
}

// However many messages of whatever length are sent between the two messages.
TEST_F(ShortMessages, CancelNeverAffectsAnEarlierWaitingMessage) {
  const Data longer = pattern(100, 5);
  const InlineSent first = send(1, 3), second = send(*contexts[0], longer, 1, 4);
  InlineSent last;
  while ((last = send(2, 5)).number < second.number + 65'536) expect(2, 5);
  expect(2, 5);
  cancel(last, false);
  Data buffer(100);
  ASSERT_TRUE(receiver.recv(*contexts[1], into(buffer), 0, 4));
  EXPECT_EQ(buffer, longer);
  cancel(first, true);
  EXPECT_FALSE(*receiver.iprobe(*contexts[1], kAnySource, kAnyTag));
}

TEST(ShortHeader, SuitsOnlyMessagesThatFit) {
  using wire::ShortEager;
  EXPECT_TRUE(ShortEager::suits(0xffff, 0x0000'ffff'0000'ffff, 0xffff'ffff'ffff, 8));
  EXPECT_FALSE(ShortEager::suits(0x1'0000, 0, 0, 0));
  EXPECT_FALSE(ShortEager::suits(0, 0x0001'0000'0000'0000, 0, 0));
  EXPECT_FALSE(ShortEager::suits(0, 0x1'0000, 0, 0));
  EXPECT_FALSE(ShortEager::suits(0, 0, 0x1'0000'0000'0000, 0));
  EXPECT_FALSE(ShortEager::suits(0, 0, 0, 9));
}

TEST(ShortHeader, HasTheFieldsOfTheFullHeader) {
  constexpr std::uint64_t kContext = 0x0000'1234'0000'5679, kNumber = 0xabcd'ef01'2345;
  const wire::SenderNumber origin{0x12'3456};
  const auto header = wire::ShortEager::of(origin, 0x9876, kContext, -7, kNumber);
  const auto words = wire::EagerWords::of_short(header.first, header.middle, header.last, 5);
  EXPECT_EQ(words.kind(), wire::PacketType::eager_numbered);
  EXPECT_EQ(words.from().number, origin.number);
  EXPECT_EQ(words.source(), 0x9876);
  EXPECT_EQ(words.context, kContext);
  EXPECT_EQ(words.tag(), -7);
  EXPECT_EQ(words.bytes(), 5u);
  const auto unnumbered = wire::ShortEager::of(origin, 1, kContext, 0, 0);
  EXPECT_EQ(
      wire::EagerWords::of_short(unnumbered.first, unnumbered.middle, unnumbered.last, 0).kind(),
      wire::PacketType::eager);
}

}  // namespace
}  // namespace shim::p2p
