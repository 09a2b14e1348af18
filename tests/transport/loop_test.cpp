// SPDX-License-Identifier: BSD-3-Clause
// Tests the faults of the loop network, and that equal seeds give equal runs.
#include "shim/transport/loop/loop.hpp"

#include <gtest/gtest.h>

#include "shim/transport/remote_reads.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport {
namespace {

using testing::bytes_of;
using testing::CallSink;

/// Send from several senders to one receiver; return (sender, number) in the order of arrival.
std::vector<std::pair<int, int>> run(LoopFaults faults, int senders, int packets) {
  LoopNetwork network(faults);
  auto receiver = network.add();
  std::vector<std::unique_ptr<Transport>> sources;
  std::vector<Link*> links;
  for (int i = 0; i < senders; ++i) {
    sources.push_back(network.add());
    links.push_back(*sources.back()->open(receiver->address()));
  }
  std::vector<std::pair<int, int>> arrived;
  CallSink sink([&](ConstSpan packet) {
    std::pair<int, int> value;
    std::memcpy(static_cast<void*>(&value), packet.data(), sizeof value);
    arrived.push_back(value);
  });
  CallSink nothing([](ConstSpan) {});
  for (int number = 0; number < packets; ++number)
    for (int i = 0; i < senders; ++i) {
      std::pair<int, int> value{i, number};
      auto index = static_cast<std::size_t>(i);
      while (*sources[index]->try_send(*links[index], bytes_of(value), {}) == Attempt::again)
        (void)receiver->poll(sink);
    }
  for (int polls = 0; network.in_flight() > 0 && polls < 10'000; ++polls) {
    for (auto& source : sources) (void)source->poll(nothing);
    (void)receiver->poll(sink);
  }
  return arrived;
}

TEST(Loop, EqualSeedsGiveEqualRunsAndOtherSeedsOtherRuns) {
  LoopFaults faults{.seed = 5, .again_chance = 0.2, .max_delay = 4, .reorder_pairs = true};
  auto first = run(faults, 4, 50);
  EXPECT_EQ(first.size(), 200u);
  EXPECT_EQ(first, run(faults, 4, 50));
  faults.seed = 6;
  EXPECT_NE(first, run(faults, 4, 50));
}

TEST(Loop, WithoutFaultsPacketsArriveInTheOrderSent) {
  auto arrived = run({}, 3, 20);
  ASSERT_EQ(arrived.size(), 60u);
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(arrived[static_cast<std::size_t>(i)], std::pair(i % 3, i / 3));
}

TEST(Loop, PacketsAreReorderedOnlyBetweenSenders) {
  auto arrived = run({.seed = 3, .reorder_pairs = true}, 3, 40);
  std::vector<int> next(3, 0);
  bool overtaken = false;
  for (auto [sender, number] : arrived) {
    EXPECT_EQ(number, next[static_cast<std::size_t>(sender)]++);
    for (int count : next) overtaken |= count > number + 2;
  }
  EXPECT_TRUE(overtaken);
}

TEST(Loop, DelayCountsPollsOfTheReceiver) {
  LoopNetwork network({.seed = 2, .max_delay = 10});
  auto a = network.add();
  auto b = network.add();
  Link* link = *a->open(b->address());
  int polls_needed = 0, late = 0;
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(*a->try_send(*link, bytes_of(round), {}), Attempt::done);
    int came = 0, polls = 0;
    CallSink sink([&](ConstSpan) { ++came; });
    while (came == 0 && polls < 20) {
      ASSERT_TRUE(b->poll(sink));
      ++polls;
    }
    ASSERT_EQ(came, 1);
    polls_needed = std::max(polls_needed, polls);
    late += polls > 1;
  }
  EXPECT_GT(late, 10);
  EXPECT_LE(polls_needed, 11);
}

TEST(Loop, CloseLosesUnsentPackets) {
  LoopNetwork network({.outbox_polls = 3});
  auto a = network.add();
  auto b = network.add();
  Link* link = *a->open(b->address());
  CallSink nothing([](ConstSpan) {});
  ASSERT_EQ(*a->try_send(*link, bytes_of(1), {}), Attempt::done);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(a->is_flushed());
    ASSERT_TRUE(a->poll(nothing));
  }
  EXPECT_TRUE(a->is_flushed());
  ASSERT_EQ(*a->try_send(*link, bytes_of(2), {}), Attempt::done);
  a.reset();
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(b->poll(sink));
  EXPECT_EQ(came, 1);
}

TEST(Loop, LostProcessIsAnErrorOnlyForItsPeers) {
  LoopNetwork network;
  auto a = network.add();
  auto b = network.add();
  auto c = network.add();
  Link* a_to_b = *a->open(b->address());
  Link* a_to_c = *a->open(c->address());
  Link* b_to_c = *b->open(c->address());
  ASSERT_EQ(*b->try_send(*b_to_c, bytes_of(1), {}), Attempt::done);
  network.lose(1);
  auto attempt = a->try_send(*a_to_b, bytes_of(2), {});
  ASSERT_FALSE(attempt);
  EXPECT_EQ(attempt.error().error_class(), base::ErrorClass::proc_aborted);
  ASSERT_EQ(*a->try_send(*a_to_c, bytes_of(3), {}), Attempt::done);
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  ASSERT_TRUE(c->poll(sink));
  EXPECT_EQ(came, 1) << "packets in flight from the lost process are lost";
}

TEST(Loop, ReadsCanBeUnsupportedOrFail) {
  std::byte there{9}, here{0};
  auto address = reinterpret_cast<std::uint64_t>(&there);
  LoopNetwork without({.reads = LoopFaults::Reads::unsupported});
  auto a = without.add();
  EXPECT_EQ(*a->remote_reads()->try_read(**a->open(a->address()), address, {&here, 1}),
            Attempt::unsupported);
  LoopNetwork failing({.reads = LoopFaults::Reads::fail});
  auto b = failing.add();
  EXPECT_FALSE(b->remote_reads()->try_read(**b->open(b->address()), address, {&here, 1}));
  EXPECT_EQ(here, std::byte{0});
}

}  // namespace
}  // namespace shim::transport
