// SPDX-License-Identifier: BSD-3-Clause
// Tests when a waiting process yields its core if there are more processes than cores.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "shim/base/clock.hpp"
#include "shim/p2p/backoff.hpp"
#include "tests/p2p/world.hpp"

static std::atomic<int> yields_made = 0;
static std::atomic<long> nanoseconds_of_a_yield = 0;  // simulated time of other waiting threads

/// Replaces the C library's function: counts the calls and simulates their duration.
extern "C" int sched_yield() noexcept {
  ++yields_made;
  const shim::base::Nanoseconds end = shim::base::now_ns() + nanoseconds_of_a_yield;
  while (nanoseconds_of_a_yield != 0 && shim::base::now_ns() < end) continue;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace shim::p2p {
namespace {

/// Return the number of yields while `body` runs.
int yields_of(const std::function<void()>& body) {
  const int before = yields_made;
  body();
  return yields_made - before;
}

TEST(Oversubscribed, KeepsItsCoreWhileMessagesArrive) {
  constexpr int kMessages = 200;
  World world{{.processes = 2}};
  world.engine(1).set_oversubscribed(true);
  auto contexts = world.contexts();
  std::vector<Data> received(kMessages, Data(8));
  std::vector<Request*> requests;
  for (Data& data : received)
    requests.push_back(value_of(world.engine(1).irecv(*contexts[1], into(data), 0, 1)));
  for (int i = 0; i < kMessages; ++i)
    ASSERT_TRUE(world.engine(0).send(*contexts[0], from(pattern(8, static_cast<std::uint32_t>(i))),
                                     1, 1, SendMode::standard));
  EXPECT_EQ(yields_of([&] {
              EXPECT_TRUE(
                  value_of(world.engine(1).wait_until([&] { return requests.back()->is_done(); })));
            }),
            0);
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(received[static_cast<std::size_t>(i)], pattern(8, static_cast<std::uint32_t>(i)));
    world.engine(1).release(requests[static_cast<std::size_t>(i)]);
  }
}

/// Each yield runs other waiting threads: it takes longer than a yield without other threads, and
/// less than a time slice.
TEST(Oversubscribed, StopsYieldingToOtherWaitersSoon) {
  const WaitPlan plan{.spin = 0, .yield = 2000, .measures_yields = true};
  Backoff backoff(plan);
  const auto yields_before_sleep = [&] {
    return yields_of([&] {
      while (backoff.step() != Backoff::Step::sleep) continue;
    });
  };
  nanoseconds_of_a_yield = 20'000;
  EXPECT_LE(yields_before_sleep(), 20);
  backoff.restart(1);  // packets have arrived, perhaps for other threads
  EXPECT_LE(yields_before_sleep(), 4);
  nanoseconds_of_a_yield = 0;
}

/// The sender is a thread that sends after the first yield, as if it had run on the yielded core.
TEST(Oversubscribed, ReceivesMessagesThatArriveDuringAYield) {
  World world{{.processes = 2}};
  world.engine(1).set_oversubscribed(true);
  auto contexts = world.contexts();
  Data data = pattern(8, 1), received(8);
  const int before = yields_made;
  std::thread sender([&] {
    while (yields_made == before) ::syscall(SYS_sched_yield);
    ASSERT_TRUE(world.engine(0).send(*contexts[0], from(data), 1, 1, SendMode::standard));
  });
  value_of(world.engine(1).recv(*contexts[1], into(received), 0, 1));
  sender.join();
  EXPECT_EQ(received, data);
}

}  // namespace
}  // namespace shim::p2p
