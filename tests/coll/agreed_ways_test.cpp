// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/agreed_ways.hpp"

#include <gtest/gtest.h>

namespace shim::coll {
namespace {

constexpr std::uint32_t kFewest = 8, kMost = 100;
constexpr float kWorth = 1.1F;

/// Two members that exchange data. The test sets the duration of an exchange by each
/// implementation.
struct LeaderAndFollower {
  AgreedWays leader{kFewest, kMost}, follower{kFewest, kMost};
  base::Nanoseconds first = 100, second = 100, mixed = 200;
  int by_first = 0, by_second = 0, disagreements = 0;

  void exchange(int times) {
    by_first = by_second = disagreements = 0;
    for (int i = 0; i < times; ++i) {
      const AgreedWays::Next leads = leader.lead(kWorth), follows = follower.follow();
      EXPECT_FALSE(follows.is_timed);
      const bool is_mixed = leads.is_second != follows.is_second;
      ++(is_mixed ? disagreements : leads.is_second ? by_second : by_first);
      if (leads.is_timed) leader.note(is_mixed ? mixed : leads.is_second ? second : first, 10);
      follower.see(leads.is_second);
    }
  }
};

// A trial in which the members use different implementations measures neither of them.
TEST(AgreedWays, FindsTheFasterEvenIfMixedExchangesAreSlow) {
  LeaderAndFollower pair{.second = 70, .mixed = 1000};
  pair.exchange(kFewest + 8);
  pair.exchange(1000);
  EXPECT_GT(pair.by_second, 850);
  EXPECT_GT(pair.by_first, 0) << "the slower implementation must still be tried sometimes";
  std::swap(pair.first, pair.second);
  pair.exchange(2 * kMost);
  pair.exchange(1000);
  EXPECT_GT(pair.by_first, 850);
}

// Not even if mixed exchanges are the fastest, because a mixed exchange is neither implementation.
TEST(AgreedWays, IgnoresTheTimeOfMixedExchanges) {
  LeaderAndFollower pair{.second = 200, .mixed = 1};
  pair.exchange(1000);
  EXPECT_GT(pair.by_first, 900);
}

TEST(AgreedWays, MembersDifferOnceForEachChange) {
  LeaderAndFollower pair{.second = 70};
  pair.exchange(kFewest);
  EXPECT_EQ(pair.disagreements, 0);
  pair.exchange(kFewest);
  EXPECT_LE(pair.disagreements, 4);
  pair.exchange(1000);
  EXPECT_LE(pair.disagreements, 1000 / static_cast<int>(kMost) * 4 + 12);
}

TEST(AgreedWays, FollowerKeepsItsChoiceWithoutNewInformation) {
  AgreedWays ways{kFewest, kMost};
  EXPECT_FALSE(ways.follow().is_second);
  ways.see(true);
  ways.see(std::nullopt);
  EXPECT_TRUE(ways.follow().is_second);
  ways.see(false);
  EXPECT_FALSE(ways.follow().is_second);
}

}  // namespace
}  // namespace shim::coll
