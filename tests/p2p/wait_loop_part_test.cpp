// SPDX-License-Identifier: BSD-3-Clause
// Tests WaitLoop without an engine.
#include "shim/p2p/wait_loop.hpp"

#include <gtest/gtest.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

/// Counts rounds.
class CountedRounds final : public RoundActions {
 public:
  int progress_all(Guard& guard, bool, base::Status& status) override {
    EXPECT_TRUE(guard.owns_lock());
    ++rounds;
    if (fails) status = base::Error(base::ErrorClass::other, "a broken link");
    return packets;
  }
  bool has_own_output() const override { return false; }
  void check_liveness() override { ++checks; }
  int rounds = 0, packets = 0, checks = 0;
  bool fails = false;
};

struct WaitLoopPart : testing::Test {
  WaitLoopPart() { transports.add(transport); }
  static base::Settings plan(int spin, int yield) {
    base::Settings settings;
    settings.spin = spin;
    settings.yield = yield;
    return settings;
  }
  WaitLoop make(const base::Settings& settings) {
    return WaitLoop({.lock = lock,
                     .transports = transports,
                     .engines = engines,
                     .reporter = reporter,
                     .actions = rounds},
                    settings, false);
  }
  StubTransport transport;
  EngineLock lock;
  Transports transports;
  Engines engines;
  WaitReporter reporter{{}, 0, nullptr, nullptr};
  CountedRounds rounds;
  WaitFor subject{"a test"};
};

TEST_F(WaitLoopPart, MakesRoundsUntilConditionHolds) {
  WaitLoop loop = make(plan(1'000, 0));
  const auto held = loop.wait([&] { return rounds.rounds == 3; }, subject);
  EXPECT_TRUE(held && *held);
  EXPECT_EQ(rounds.rounds, 3);
  EXPECT_EQ(transport.sleeps, 0);
}

TEST_F(WaitLoopPart, ConditionThatHoldsNeedsNoRound) {
  WaitLoop loop = make(plan(0, 0));
  EXPECT_TRUE(loop.wait([] { return true; }, subject));
  EXPECT_EQ(rounds.rounds, 0);
}

TEST_F(WaitLoopPart, PassedDeadlineEndsWait) {
  WaitLoop loop = make(plan(1, 0));
  const auto held = loop.wait([] { return false; }, subject, base::Deadline::after_seconds(0));
  EXPECT_TRUE(held && !*held);
}

TEST_F(WaitLoopPart, ErrorOfRoundEndsWait) {
  WaitLoop loop = make(plan(1, 0));
  rounds.fails = true;
  const auto held = loop.wait([] { return false; }, subject);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().text(), "a broken link");
}

TEST_F(WaitLoopPart, SleepsInTransportAfterSpinningAndChecksLivenessBefore) {
  WaitLoop loop = make(plan(2, 0));
  EXPECT_TRUE(loop.wait([&] { return transport.sleeps > 0; }, subject));
  EXPECT_GE(rounds.rounds, 2);
  EXPECT_EQ(rounds.checks, 1);
  EXPECT_EQ(loop.sleepers(), 0);
}

TEST_F(WaitLoopPart, ChecksLivenessAfterManyRounds) {
  WaitLoop loop = make(plan(0, 0));
  while (rounds.checks == 0) ASSERT_TRUE(loop.round(true));
  EXPECT_GT(rounds.rounds, 1'000);
  const int first = rounds.rounds;
  while (rounds.checks == 1) ASSERT_TRUE(loop.round(true));
  EXPECT_EQ(rounds.rounds, 2 * first);
}

TEST_F(WaitLoopPart, RoundsElsewhereCount) {
  WaitLoop loop = make(plan(0, 0));
  EXPECT_FALSE(loop.count_rounds(1));
  EXPECT_TRUE(loop.count_rounds(1'000'000));
}

TEST_F(WaitLoopPart, OtherEngineMakesRoundOnlyIfNoThreadPolls) {
  WaitLoop loop = make(plan(0, 0));
  rounds.packets = 2;
  EXPECT_EQ(loop.poll_for_others(false), 2);
  EXPECT_TRUE(loop.round(true));
  EXPECT_EQ(loop.poll_for_others(false), 0);
  EXPECT_EQ(loop.poll_for_others(false), 2);
}

TEST_F(WaitLoopPart, RunsRegisteredWorkInEachRound) {
  WaitLoop loop = make(plan(0, 0));
  int runs = 0;
  loop.work().add([&] { ++runs; }, nullptr);
  EXPECT_FALSE(loop.needs_polling());
  EXPECT_TRUE(loop.round(false));
  EXPECT_TRUE(loop.round(true));
  EXPECT_EQ(runs, 2);
}

TEST_F(WaitLoopPart, PlanFollowsOversubscription) {
  WaitLoop loop = make(plan(7, 7));
  EXPECT_EQ(loop.plan().spin, 7);
  loop.set_oversubscribed(true);
  EXPECT_TRUE(loop.is_oversubscribed());
  EXPECT_EQ(loop.plan().spin, 0);
}

}  // namespace
}  // namespace shim::p2p
