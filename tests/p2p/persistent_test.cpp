// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

class Persistent : public testing::TestWithParam<SendMode> {
 protected:
  World world{{.processes = 2}};
  std::vector<ContextPtr> contexts = world.contexts();
};

TEST_P(Persistent, CanBeStartedRepeatedly) {
  for (std::size_t bytes : {0u, 16u, 40'000u}) {
    Data sent(bytes), received(bytes);
    Request* send = value_of(world.engine(0).send_init(*contexts[0], from(sent), 1, 2, GetParam()));
    Request* receive = value_of(
        world.engine(1).recv_init(*contexts[1], into(received), kAnySource, kAnyTag));
    EXPECT_TRUE(send->is_persistent() && send->is_done() && !send->is_active());
    EXPECT_EQ(send->outcome().source, kAnySource);
    for (std::uint32_t generation = 0; generation < 5; ++generation) {
      std::ranges::copy(pattern(bytes, generation),
                        sent.begin());  // in place: the request keeps the buffer address
      ASSERT_TRUE(world.engine(1).start(*receive));
      EXPECT_TRUE(receive->is_active() && !receive->is_done());
      ASSERT_TRUE(world.engine(0).start(*send));
      ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
      EXPECT_EQ(received, sent);
      EXPECT_EQ(receive->outcome().source, 0);
      EXPECT_EQ(receive->outcome().tag, 2);
      auto again = world.engine(1).start(*receive);
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().error_class(), base::ErrorClass::request)
          << "a completed request is active until deactivate()";
      world.engine(0).deactivate(*send);
      world.engine(1).deactivate(*receive);
      EXPECT_TRUE(receive->is_done() && !receive->is_active());
      EXPECT_EQ(receive->outcome().source, kAnySource);
    }
    world.engine(0).release(send);
    world.engine(1).release(receive);
  }
}

TEST_P(Persistent, NullRankCompletesAtOnce) {
  Data data(4);
  Request* send = value_of(
      world.engine(0).send_init(*contexts[0], from(data), kProcNull, 2, GetParam()));
  Request* receive = value_of(world.engine(0).recv_init(*contexts[0], into(data), kProcNull, 2));
  for (Request* request : {send, receive}) {
    ASSERT_TRUE(world.engine(0).start(*request));
    EXPECT_TRUE(request->is_done());
    world.engine(0).deactivate(*request);
    world.engine(0).release(request);
  }
}

TEST_P(Persistent, CompletesAfterTheContextAndTheRequestAreFreed) {
  Data sent = pattern(40'000, 1), received(40'000);
  Request* send = value_of(world.engine(0).send_init(*contexts[0], from(sent), 1, 2, GetParam()));
  Request* receive = value_of(world.engine(1).recv_init(*contexts[1], into(received), 0, 2));
  contexts.clear();
  ASSERT_TRUE(world.engine(1).start(*receive));
  ASSERT_TRUE(world.engine(0).start(*send));
  world.engine(0).release(send);
  world.engine(1).release(receive);
  ASSERT_TRUE(world.step_until([&] { return received == sent; }));
  EXPECT_TRUE(world.engine(0).flush(base::Deadline::after_seconds(10)));
}

TEST_P(Persistent, StartRefusesOtherRequests) {
  Data data(4);
  Request* request = value_of(world.engine(1).irecv(*contexts[1], into(data), 0, 2));
  EXPECT_FALSE(world.engine(1).start(*request));
  ASSERT_TRUE(world.engine(1).cancel(*request));
  world.engine(1).release(request);
}

INSTANTIATE_TEST_SUITE_P(Modes, Persistent,
                         testing::Values(SendMode::standard, SendMode::synchronous,
                                         SendMode::ready));

}  // namespace
}  // namespace shim::p2p
