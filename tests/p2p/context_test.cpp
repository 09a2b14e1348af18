// SPDX-License-Identifier: BSD-3-Clause
// Tests messages for communicators that do not exist yet, or no longer.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

class Contexts : public testing::TestWithParam<std::size_t> {
 protected:
  World world{{.processes = 3}};

  void step(int rounds) {
    for (int i = 0; i < rounds; ++i) world.step();
  }
};

TEST_P(Contexts, MessagesWaitUntilTheirContextExists) {
  ContextPtr theirs[] = {world.context(0), world.context(1)};
  Data first = pattern(GetParam(), 1), second = pattern(GetParam(), 2),
       other = pattern(GetParam(), 3);
  std::vector<Request*> sends = {
      value_of(world.engine(0).isend(*theirs[0], from(first), 2, 1, SendMode::standard)),
      value_of(world.engine(0).isend(*theirs[0], from(second), 2, 1, SendMode::synchronous)),
      value_of(world.engine(0).isend(*theirs[0], from(other), 2, 1, SendMode::standard,
                                     Plane::collective))};
  step(20);
  EXPECT_FALSE(sends[1]->is_done());
  ContextPtr ours = world.context(2);
  Data received(GetParam());
  value_of(world.engine(2).recv(*ours, into(received), kAnySource, 1));
  EXPECT_EQ(received, first);
  value_of(world.engine(2).recv(*ours, into(received), 0, kAnyTag));
  EXPECT_EQ(received, second);
  value_of(world.engine(2).recv(*ours, into(received), 0, 1, Plane::collective));
  EXPECT_EQ(received, other);
  for (Request* send : sends) {
    ASSERT_TRUE(world.step_until([&] { return send->is_done(); }));
    world.engine(0).release(send);
  }
}

TEST_P(Contexts, DuplicatesHaveSeparateQueues) {
  auto parents = world.contexts();
  auto children = world.contexts(*base::ContextPath{}.child(1));
  Data in_parent = pattern(GetParam(), 1), in_child = pattern(GetParam(), 2), received(GetParam());
  Request* first = value_of(
      world.engine(0).isend(*parents[0], from(in_parent), 1, 1, SendMode::standard));
  Request* second = value_of(
      world.engine(0).isend(*children[0], from(in_child), 1, 1, SendMode::standard));
  value_of(world.engine(1).recv(*children[1], into(received), kAnySource, kAnyTag));
  EXPECT_EQ(received, in_child);
  value_of(world.engine(1).recv(*parents[1], into(received), kAnySource, kAnyTag));
  EXPECT_EQ(received, in_parent);
  for (Request* send : {first, second}) {
    ASSERT_TRUE(world.step_until([&] { return send->is_done(); }));
    world.engine(0).release(send);
  }
}

TEST_P(Contexts, LateMessagesAreDroppedAndCounted) {
  auto contexts = world.contexts();
  Data data = pattern(GetParam(), 1);
  world.engine(0).release(
      value_of(world.engine(0).isend(*contexts[0], from(data), 2, 1, SendMode::standard)));
  contexts[2].reset();
  step(20);
  EXPECT_EQ(world.engine(2).counts().stale_dropped, 1u);

  world.engine(2).set_first_base(1000);
  ContextPtr old = world.context(0, {}, 900), current = world.context(0, {}, 1000),
             ours = world.context(2, {}, 1000);
  world.engine(0).release(
      value_of(world.engine(0).isend(*old, from(data), 2, 1, SendMode::standard)));
  world.engine(0).release(
      value_of(world.engine(0).isend(*current, from(data), 2, 1, SendMode::standard)));
  Data received(GetParam());
  value_of(world.engine(2).recv(*ours, into(received), 0, 1));
  EXPECT_EQ(received, data);
  EXPECT_EQ(world.engine(2).counts().stale_dropped, 2u);
}

TEST_P(Contexts, FreedContextRemainsForPostedReceives) {
  auto contexts = world.contexts();
  Data data = pattern(GetParam(), 1), received(GetParam());
  Request* receive = value_of(world.engine(1).irecv(*contexts[1], into(received), 0, 1));
  contexts[1].reset();
  Request* send = value_of(
      world.engine(0).isend(*contexts[0], from(data), 1, 1, SendMode::standard));
  contexts[0].reset();
  ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
  EXPECT_EQ(received, data);
  world.engine(0).release(send);
  world.engine(1).release(receive);
}

TEST_P(Contexts, MayOutliveTheirEngine) {
  auto contexts = std::make_unique<std::vector<ContextPtr>>();
  {
    World short_lived{{.processes = 2}};
    *contexts = short_lived.contexts();
    Data data = pattern(GetParam(), 1), received(GetParam());
    short_lived.engine(0).release(
        value_of(short_lived.engine(0).isend_copied(*(*contexts)[0], from(data), 1, 1)));
    short_lived.engine(1).release(
        value_of(short_lived.engine(1).irecv(*(*contexts)[1], into(received), 0, 7)));
    contexts->pop_back();  // kept alive by the receive that never matches
    for (int i = 0; i < 10; ++i) short_lived.step();
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Contexts, testing::Values(0, 100, 30'000));

}  // namespace
}  // namespace shim::p2p
