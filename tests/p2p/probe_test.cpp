// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

class Probe : public testing::TestWithParam<std::size_t>, protected TwoEngines {
 protected:
  Data first = pattern(GetParam(), 1), second = pattern(GetParam(), 2);

  Request* send(const Data& data, int tag) {
    return value_of(sender.isend(*contexts[0], from(data), 1, tag, SendMode::standard));
  }
  void finish(Request* request) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->error(), nullptr);
    sender.release(request);
  }
};

TEST_P(Probe, FindsTheMessageWithoutReceivingIt) {
  EXPECT_FALSE(value_of(receiver.iprobe(*contexts[1], kAnySource, kAnyTag)));
  Request* gave = send(first, 4);
  auto seen = value_of(receiver.probe(*contexts[1], kAnySource, kAnyTag));
  EXPECT_EQ(seen.source, 0);
  EXPECT_EQ(seen.tag, 4);
  EXPECT_EQ(seen.bytes, GetParam());
  EXPECT_FALSE(value_of(receiver.iprobe(*contexts[1], 0, 5)));
  EXPECT_EQ(value_of(receiver.iprobe(*contexts[1], 0, 4))->bytes, GetParam());
  Data received(GetParam());
  value_of(receiver.recv(*contexts[1], into(received), 0, 4));
  EXPECT_EQ(received, first);
  EXPECT_FALSE(value_of(receiver.iprobe(*contexts[1], 0, 4)));
  finish(gave);
}

TEST_P(Probe, MatchedMessageIsNotFoundAgain) {
  Request* gave[] = {send(first, 4), send(second, 4)};
  auto matched = value_of(receiver.mprobe(*contexts[1], kAnySource, 4));
  ASSERT_NE(matched.message, nullptr);
  EXPECT_EQ(matched.outcome.bytes, GetParam());
  Data received(GetParam());
  value_of(receiver.recv(*contexts[1], into(received), 0, 4));
  EXPECT_EQ(received, second);
  EXPECT_EQ(value_of(receiver.mrecv(matched.message, into(received))).source, 0);
  EXPECT_EQ(received, first);
  EXPECT_FALSE(value_of(receiver.improbe(*contexts[1], kAnySource, kAnyTag)));
  for (Request* request : gave) finish(request);
}

TEST_P(Probe, MatchedMessageOutlivesItsContext) {
  Request* gave = send(first, 4);
  std::optional<Engine::Matched> matched;
  ASSERT_TRUE(world.step_until([&] {
    matched = value_of(receiver.improbe(*contexts[1], 0, kAnyTag));
    return matched.has_value();
  }));
  contexts[1].reset();
  Data received(GetParam());
  Request* got = value_of(receiver.imrecv(matched->message, into(received)));
  ASSERT_TRUE(receiver.wait(*got));
  EXPECT_EQ(got->outcome().tag, 4);
  EXPECT_EQ(received, first);
  receiver.release(got);
  finish(gave);
}

INSTANTIATE_TEST_SUITE_P(Bytes, Probe, testing::Values(0, 16, 1000, 60'000));

}  // namespace
}  // namespace shim::p2p
