// SPDX-License-Identifier: BSD-3-Clause
// Tests several engines of one process: while a thread waits in one engine, operations of the
// others make progress.
#include "shim/p2p/engines.hpp"

#include "shim/transport/self/self.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

/// Bytes of a message that needs progress of its sender during the transfer.
constexpr std::size_t kLong = 50'000;
constexpr double kPatience = 20;  // s; each condition should hold within milliseconds

/// Return settings without single-copy reads, so that each message needs its sender.
base::Settings without_reads() {
  base::Settings settings = World::quick();
  settings.single_copy = false;
  return settings;
}

/// Two processes with two engines each, one in each of two worlds.
class EnginesOfOneProcess : public ::testing::Test {
 protected:
  std::vector<std::shared_ptr<Engines>> engines{std::make_shared<Engines>(),
                                                std::make_shared<Engines>()};
  World first{{.settings = without_reads(), .engines = engines}},
      second{{.settings = without_reads(), .engines = engines}};
  std::vector<ContextPtr> here = first.contexts(), there = second.contexts();
  Data data = pattern(kLong, 1), received = Data(kLong);

  bool receive_long() {
    Request* receive = value_of(second.engine(1).irecv(*there[1], into(received), 0, 1));
    const bool has_come = value_of(second.engine(1).wait_until(
        [&] { return receive->is_done(); }, base::Deadline::after_seconds(kPatience)));
    if (!has_come) {
      EXPECT_TRUE(Engine::cancel(*receive));
    }
    Engine::release(receive);
    return has_come && received == data;
  }
};

// A thread that makes progress on all engines sees the new engine either complete or not at all.
// The many transports prolong the construction, as many repetitions would.
TEST(Engines, NoThreadEntersAnEngineUnderConstruction) {
  std::vector<std::unique_ptr<transport::Transport>> owned;
  EngineSpec spec{.self = {0, 0}, .engines = std::make_shared<Engines>()};
  Engine first(spec);
  for (int i = 0; i < 1000; ++i)
    spec.transports.push_back(owned.emplace_back(transport::make_self()).get());
  std::atomic<bool> is_over{false}, has_begun{false};
  std::thread poller([&] {
    while (!is_over) {
      EXPECT_TRUE(spec.engines->progress());
      has_begun = true;
    }
  });
  while (!has_begun) std::this_thread::yield();
  const Engine second(spec);
  is_over = true;
  poller.join();
}

TEST_F(EnginesOfOneProcess, WaitInOneEngineProgressesTheOther) {
  Request* send = value_of(second.engine(0).isend(*there[0], from(data), 1, 1, SendMode::standard));
  std::thread other([&] {
    EXPECT_TRUE(receive_long());
    Data word = pattern(8, 2);
    EXPECT_TRUE(first.engine(1).send(*here[1], from(word), 0, 1, SendMode::standard));
  });
  Data word(8);
  value_of(first.engine(0).recv(*here[0], into(word), 1, 1));
  other.join();
  EXPECT_TRUE(value_of(second.engine(0).test(*send)));
  Engine::release(send);
}

TEST_F(EnginesOfOneProcess, ImmediateReceivesDoNotStarveTheOtherEngine) {
  Request* send = value_of(second.engine(0).isend(*there[0], from(data), 1, 1, SendMode::standard));
  std::atomic<bool> is_over{false};
  std::thread receiver([&] {
    EXPECT_TRUE(receive_long());
    is_over = true;
  });
  while (!is_over) {  // to self, so that the receive finds its message
    Data word = pattern(8, 3), got(8);
    EXPECT_TRUE(first.engine(0).send(*here[0], from(word), 0, 1, SendMode::standard));
    value_of(first.engine(0).recv(*here[0], into(got), 0, 1));
    EXPECT_EQ(got, word);
  }
  receiver.join();
  Engine::release(send);
}

TEST_F(EnginesOfOneProcess, RepeatedTestsProgressTheOtherEngine) {
  Request* send = value_of(second.engine(0).isend(*there[0], from(data), 1, 1, SendMode::standard));
  Data word(8);
  Request* never = value_of(first.engine(0).irecv(*here[0], into(word), 1, 1));
  std::atomic<bool> is_over{false};
  std::thread receiver([&] {
    EXPECT_TRUE(receive_long());
    is_over = true;
  });
  while (!is_over) EXPECT_FALSE(value_of(first.engine(0).test(*never)));
  receiver.join();
  EXPECT_TRUE(Engine::cancel(*never));
  Engine::release(never);
  Engine::release(send);
}

TEST_F(EnginesOfOneProcess, WaiterDoesNotPollAnEngineThatOthersPoll) {
  int runs = 0, own = 0;
  const std::uint64_t work = second.engine(0).add_progress([&] { ++runs; });
  // polls as another thread would, between any two polls of the waiter
  EXPECT_TRUE(value_of(first.engine(0).wait_until([&] {
    EXPECT_TRUE(second.engine(0).progress());
    return ++own == 1000;
  })));
  EXPECT_EQ(runs, own);
  EXPECT_TRUE(value_of(first.engine(0).wait_until([&] { return runs > own; },
                                                  base::Deadline::after_seconds(kPatience))));
  second.engine(0).remove_progress(work);
}

TEST_F(EnginesOfOneProcess, ProgressOfAllReachesEach) {
  int in_first = 0, in_second = 0;
  const std::uint64_t one = first.engine(0).add_progress([&] { ++in_first; }),
                      other = second.engine(0).add_progress([&] { ++in_second; });
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(engines[0]->progress());
  EXPECT_EQ(in_first, 10);
  EXPECT_GE(in_second, 9);  // the first poll may only check for progress by others
  first.engine(0).remove_progress(one);
  second.engine(0).remove_progress(other);
}

// Registered work needs its pre-sleep calls, whichever engine the thread sleeps in.
TEST_F(EnginesOfOneProcess, SleepInOneEngineRunsPreSleepWorkOfTheOther) {
  int before_sleep = 0;
  const std::uint64_t work = first.engine(0).add_progress([] {}, [&] { ++before_sleep; });
  EXPECT_TRUE(value_of(second.engine(0).wait_until([&] { return before_sleep > 2; },
                                                   base::Deadline::after_seconds(kPatience))));
  first.engine(0).remove_progress(work);
}

TEST_F(EnginesOfOneProcess, EnginesShareTheEndedBases) {
  here.clear(), there.clear();
  for (std::uint32_t base = 1000; base < 1100; ++base)
    (base % 2 == 0 ? first : second).context(0, {}, base).reset();
  for (std::uint32_t base = 1000; base < 1100; ++base)
    EXPECT_TRUE(engines[0]->ended_bases()->contains(base));
  EXPECT_LE(engines[0]->ended_bases()->ranges(), 2u);  // one range for these, one for the set-up
}

TEST(Engines, SingleEnginePollsNoOther) {
  auto engines = std::make_shared<Engines>();
  World world{{.processes = 1, .engines = {engines}}};
  EXPECT_FALSE(engines->are_several());
  {
    World other{{.processes = 1, .engines = {engines}}};
    EXPECT_TRUE(engines->are_several());
  }
  EXPECT_FALSE(engines->are_several());
  EXPECT_TRUE(engines->progress());
}

}  // namespace
}  // namespace shim::p2p
