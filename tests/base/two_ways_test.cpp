// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/two_ways.hpp"

#include <gtest/gtest.h>

namespace shim::base {
namespace {

constexpr std::uint32_t kFewest = 8, kMost = 100;

/// Does something again and again; how long either way takes is up to the test.
struct Worker {
  TwoWays ways{kFewest, kMost};
  Nanoseconds first = 100, second = 100;
  float worth = 1;
  std::uint32_t trials = 0, by_second = 0;

  void work(int times) {
    for (int i = 0; i < times; ++i) {
      const TwoWays::Next next = ways.next(worth);
      by_second += next.is_second && !next.is_trial;
      trials += next.is_trial;
      if (next.is_trial) ways.note(next.is_second ? second : first, 10);
    }
  }
  /// How many of so many go the second way, of those that are no trials.
  std::uint32_t second_of(int times) {
    by_second = 0;
    work(times);
    return by_second;
  }
};

TEST(TwoWays, TheFirstUntilTheSecondWasTried) {
  Worker worker{.second = 1};
  EXPECT_EQ(worker.second_of(kFewest), 0u);
  EXPECT_EQ(worker.trials, 0u);
  worker.work(4);
  EXPECT_EQ(worker.trials, 4u);
  EXPECT_EQ(worker.second_of(kFewest), kFewest);
}

TEST(TwoWays, TheSecondOnlyWhereItIsWorthIt) {
  Worker worker{.second = 60, .worth = 2};
  worker.work(1000);
  EXPECT_EQ(worker.second_of(1000), 0u) << "1.7 times as fast is not twice";
  worker.second = 40;
  worker.work(1000);
  EXPECT_GT(worker.second_of(1000), 900u);
}

TEST(TwoWays, EachCallerHasItsOwnWorth) {
  Worker worker{.second = 30};
  worker.work(kFewest + 4);
  EXPECT_TRUE(worker.ways.next(3).is_second);
  EXPECT_FALSE(worker.ways.next(4).is_second);
}

TEST(TwoWays, ComparesTheMoreSeldomTheLongerItFindsTheSame) {
  Worker worker;
  worker.work(10'000);
  EXPECT_LE(worker.trials, 4 * 10'000 / kMost + 20);
  EXPECT_GE(worker.trials, 4 * 10'000 / (kMost + 4) - 4) << "but does not stop";
}

TEST(TwoWays, FindsOutWhenThingsChange) {
  Worker worker{.second = 20};
  worker.work(1000);
  ASSERT_GT(worker.second_of(1000), 900u);
  std::swap(worker.first, worker.second);
  std::uint32_t until_found = 1;
  for (const std::uint32_t trials = worker.trials; worker.second_of(1) != 0 || worker.trials < trials + 4; ++until_found) ASSERT_LE(until_found, kMost + 4);
  EXPECT_EQ(worker.second_of(kFewest), 0u);
  std::swap(worker.first, worker.second);
  worker.work(4);
  EXPECT_EQ(worker.second_of(kFewest), kFewest) << "after a change it looks again soon";
}

// One that was interrupted takes thousands of times as long.
TEST(TwoWays, OneSlowTrialOfEachCountsForNothing) {
  for (const bool is_second : {false, true}) {
    Worker worker{.first = 100, .second = is_second ? 20 : 500};
    worker.work(kFewest);
    for (int i = 0; i < 4; ++i) {
      const TwoWays::Next next = worker.ways.next(1);
      ASSERT_TRUE(next.is_trial);
      worker.ways.note(i < 2 ? 1'000'000 : next.is_second ? worker.second : worker.first, 10);
    }
    EXPECT_EQ(worker.second_of(kFewest), is_second ? kFewest : 0u);
  }
}

TEST(TwoWays, WhatIsLongerMayTakeLonger) {
  Worker worker;
  worker.work(kFewest);
  for (int i = 0; i < 4; ++i) worker.ways.note(100, worker.ways.next(1).is_second ? 30 : 10);
  EXPECT_TRUE(worker.ways.next(2.5).is_second);
}

// A clock that does not advance.
TEST(TwoWays, NoTimeAtAllIsNoDivisionByIt) {
  Worker worker{.first = 0, .second = 0};
  worker.work(1000);
  EXPECT_FALSE(worker.ways.next(1).is_second);
}

}  // namespace
}  // namespace shim::base
