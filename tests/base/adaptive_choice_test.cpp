// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/adaptive_choice.hpp"

#include <gtest/gtest.h>

namespace shim::base {
namespace {

constexpr std::uint32_t kMinInterval = 8, kMaxInterval = 100;

/// Runs an operation repeatedly. The test sets the duration of both implementations.
struct Worker {
  AdaptiveChoice choice{kMinInterval, kMaxInterval};
  Nanoseconds first = 100, second = 100;
  float min_speedup = 1;
  std::uint32_t trials = 0, by_second = 0;

  void work(int times) {
    for (int i = 0; i < times; ++i) {
      const AdaptiveChoice::Next next = choice.next(min_speedup);
      by_second += next.is_second && !next.is_trial;
      trials += next.is_trial;
      if (next.is_trial) choice.record(next.is_second ? second : first, 10);
    }
  }
  /// Run `times` operations; return how many, trials excluded, used the second implementation.
  std::uint32_t second_of(int times) {
    by_second = 0;
    work(times);
    return by_second;
  }
};

TEST(AdaptiveChoice, UsesTheFirstImplementationUntilTheFirstComparison) {
  Worker worker{.second = 1};
  EXPECT_EQ(worker.second_of(kMinInterval), 0u);
  EXPECT_EQ(worker.trials, 0u);
  worker.work(4);
  EXPECT_EQ(worker.trials, 4u);
  EXPECT_EQ(worker.second_of(kMinInterval), kMinInterval);
}

TEST(AdaptiveChoice, UsesTheSecondImplementationOnlyAboveTheMinimumSpeedup) {
  Worker worker{.second = 60, .min_speedup = 2};
  worker.work(1000);
  EXPECT_EQ(worker.second_of(1000), 0u) << "1.7 times as fast is not twice";
  worker.second = 40;
  worker.work(1000);
  EXPECT_GT(worker.second_of(1000), 900u);
}

TEST(AdaptiveChoice, TakesTheMinimumSpeedupOfEachCall) {
  Worker worker{.second = 30};
  worker.work(kMinInterval + 4);
  EXPECT_TRUE(worker.choice.next(3).is_second);
  EXPECT_FALSE(worker.choice.next(4).is_second);
}

TEST(AdaptiveChoice, LengthensTheIntervalWhileResultsAgree) {
  Worker worker;
  worker.work(10'000);
  EXPECT_LE(worker.trials, 4 * 10'000 / kMaxInterval + 20);
  EXPECT_GE(worker.trials, 4 * 10'000 / (kMaxInterval + 4) - 4)
      << "trials become rare but do not stop";
}

TEST(AdaptiveChoice, AdaptsToAChange) {
  Worker worker{.second = 20};
  worker.work(1000);
  ASSERT_GT(worker.second_of(1000), 900u);
  std::swap(worker.first, worker.second);
  std::uint32_t until_found = 1;
  for (const std::uint32_t trials = worker.trials;
       worker.second_of(1) != 0 || worker.trials < trials + 4; ++until_found)
    ASSERT_LE(until_found, kMaxInterval + 4);
  EXPECT_EQ(worker.second_of(kMinInterval), 0u);
  std::swap(worker.first, worker.second);
  worker.work(4);
  EXPECT_EQ(worker.second_of(kMinInterval), kMinInterval)
      << "the interval is short again after a change";
}

// A trial during which the thread was preempted takes thousands of times as long.
TEST(AdaptiveChoice, IgnoresOneSlowTrialOfEachImplementation) {
  for (const bool is_second : {false, true}) {
    Worker worker{.first = 100, .second = is_second ? 20 : 500};
    worker.work(kMinInterval);
    for (int i = 0; i < 4; ++i) {
      const AdaptiveChoice::Next next = worker.choice.next(1);
      ASSERT_TRUE(next.is_trial);
      worker.choice.record(i < 2 ? 1'000'000 : next.is_second ? worker.second : worker.first, 10);
    }
    EXPECT_EQ(worker.second_of(kMinInterval), is_second ? kMinInterval : 0u);
  }
}

TEST(AdaptiveChoice, ComparesTimePerByte) {
  Worker worker;
  worker.work(kMinInterval);
  for (int i = 0; i < 4; ++i) worker.choice.record(100, worker.choice.next(1).is_second ? 30 : 10);
  EXPECT_TRUE(worker.choice.next(2.5).is_second);
}

// The clock does not advance between two readings.
TEST(AdaptiveChoice, ToleratesZeroDurations) {
  Worker worker{.first = 0, .second = 0};
  worker.work(1000);
  EXPECT_FALSE(worker.choice.next(1).is_second);
}

}  // namespace
}  // namespace shim::base
