// SPDX-License-Identifier: BSD-3-Clause
// Where processes outnumber cores: when a waiting process gives its core away, and when it had better not.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "shim/base/clock.hpp"
#include "shim/p2p/backoff.hpp"
#include "tests/p2p/world.hpp"

static std::atomic<int> yields_made = 0;
static std::atomic<long> nanoseconds_of_a_yield = 0;  // spent by other threads that wait as well

/// In the place of the C library's.
extern "C" int sched_yield() noexcept {
  ++yields_made;
  const shim::base::Nanoseconds end = shim::base::now_ns() + nanoseconds_of_a_yield;
  while (nanoseconds_of_a_yield != 0 && shim::base::now_ns() < end) continue;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace shim::p2p {
namespace {

/// Yields while body runs.
int yields_of(const std::function<void()>& body) {
  const int before = yields_made;
  body();
  return yields_made - before;
}

TEST(Crowded, WhoHasMoreToTakeKeepsItsCore) {
  constexpr int kMessages = 200;
  World world{{.processes = 2}};
  world.engine(1).set_crowded(true);
  auto contexts = world.contexts();
  std::vector<Data> received(kMessages, Data(8));
  std::vector<Request*> requests;
  for (Data& data : received) requests.push_back(value_of(world.engine(1).irecv(*contexts[1], into(data), 0, 1)));
  for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(world.engine(0).send(*contexts[0], from(pattern(8, static_cast<std::uint32_t>(i))), 1, 1, Mode::standard));
  EXPECT_EQ(yields_of([&] { EXPECT_TRUE(value_of(world.engine(1).wait_until([&] { return requests.back()->is_done(); }))); }), 0);
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(received[static_cast<std::size_t>(i)], pattern(8, static_cast<std::uint32_t>(i)));
    world.engine(1).release(requests[static_cast<std::size_t>(i)]);
  }
}

/// Each yield gives the core to threads that wait as well: neither to none, nor for a time slice.
TEST(Crowded, YieldsToOthersThatWaitEndSoon) {
  const WaitPlan plan{.spin = 0, .yield = 2000, .weighs_yields = true};
  Backoff backoff(plan);
  const auto yields_before_sleep = [&] {
    return yields_of([&] {
      while (backoff.step() != Backoff::Step::sleep) continue;
    });
  };
  nanoseconds_of_a_yield = 20'000;
  EXPECT_LE(yields_before_sleep(), 20);
  backoff.restart(1);  // packets have come, which may be other threads'
  EXPECT_LE(yields_before_sleep(), 4);
  nanoseconds_of_a_yield = 0;
}

/// The sender, which has the core meanwhile, is a thread that sends once somebody has yielded.
TEST(Crowded, WhatComesWhileItsReceiverYieldsIsReceived) {
  World world{{.processes = 2}};
  world.engine(1).set_crowded(true);
  auto contexts = world.contexts();
  Data data = pattern(8, 1), received(8);
  const int before = yields_made;
  std::thread sender([&] {
    while (yields_made == before) ::syscall(SYS_sched_yield);
    ASSERT_TRUE(world.engine(0).send(*contexts[0], from(data), 1, 1, Mode::standard));
  });
  value_of(world.engine(1).recv(*contexts[1], into(received), 0, 1));
  sender.join();
  EXPECT_EQ(received, data);
}

}  // namespace
}  // namespace shim::p2p
