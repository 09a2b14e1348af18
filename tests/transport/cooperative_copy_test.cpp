// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/cooperative_copy.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace shim::transport {
namespace {

constexpr base::Nanoseconds kSecond = 1'000'000'000;

TEST(CooperativeCopy, EachPartIsClaimedOnce) {
  CooperativeCopy copy;
  const auto generation = copy.open(37, kSecond);
  std::vector<int> taken(37);
  for (auto parts = copy.claim(generation); parts.count != 0; parts = copy.claim(generation))
    for (auto part = parts.first; part < parts.first + parts.count; ++part) ++taken.at(part);
  EXPECT_EQ(taken, std::vector(37, 1));
}

TEST(CooperativeCopy, ClaimsShrinkTowardsTheEnd) {
  CooperativeCopy copy;
  const auto generation = copy.open(1000, kSecond);
  EXPECT_EQ(copy.claim(generation).count, 16u);
  copy.close(generation);
  const auto next = copy.open(8, kSecond);
  EXPECT_EQ(copy.claim(next).count, 2u);
  EXPECT_EQ(copy.claim(next).count, 1u);
}

TEST(CooperativeCopy, ClaimsNothingOfAnotherGeneration) {
  CooperativeCopy copy;
  EXPECT_EQ(copy.claim(0).count, 0u) << "the copy is not open";
  const auto first = copy.open(4, kSecond);
  const auto second = copy.open(4, kSecond);
  EXPECT_EQ(copy.claim(first).count, 0u);
  EXPECT_EQ(copy.claim(second).count, 1u);
}

TEST(CooperativeCopy, CloseEndsClaimsOfBothSides) {
  CooperativeCopy copy;
  const auto generation = copy.open(4, kSecond);
  copy.claim(generation);
  EXPECT_EQ(copy.close(generation), 3u);
  EXPECT_EQ(copy.claim(generation).count, 0u);
}

TEST(CooperativeCopy, IsCompleteWhenTheSenderReportedAllClaimedParts) {
  CooperativeCopy copy;
  const auto generation = copy.open(4, kSecond);
  EXPECT_TRUE(copy.is_complete(0));
  EXPECT_FALSE(copy.is_complete(3));
  copy.report_written(generation, 2);
  EXPECT_FALSE(copy.is_complete(3));
  EXPECT_FALSE(copy.was_refused());
  copy.report_refused(generation, 1);
  EXPECT_TRUE(copy.is_complete(3));
  EXPECT_TRUE(copy.was_refused());
  const auto next = copy.open(4, kSecond);
  copy.report_written(generation, 1);
  EXPECT_TRUE(copy.is_complete(0)) << "reports of an earlier generation do not count";
  copy.report_written(next, 1);
  EXPECT_TRUE(copy.is_complete(1));
}

TEST(CooperativeCopy, HeartbeatExpires) {
  CooperativeCopy copy;
  copy.open(4, kSecond);
  EXPECT_TRUE(copy.has_recent_heartbeat(kSecond + 1));
  EXPECT_FALSE(copy.has_recent_heartbeat(kSecond + kSecond / 10));
  copy.heartbeat(kSecond + kSecond / 10);
  EXPECT_TRUE(copy.has_recent_heartbeat(kSecond + kSecond / 10));
  EXPECT_FALSE(copy.has_recent_heartbeat(0))
      << "such a difference means that the clocks are not the same clock";
}

/// If both threads claimed one part, ThreadSanitizer would report a race on its bytes.
TEST(CooperativeCopy, TwoThreadsCopyEachPartOnce) {
  constexpr std::uint32_t kParts = 200;
  CooperativeCopy copy;
  std::vector<int> copies(kParts);
  for (int message = 1; message <= 50; ++message) {
    const auto generation = copy.open(kParts, base::now_ns());
    std::latch start(2);
    std::thread sender([&] {
      start.arrive_and_wait();
      for (auto parts = copy.claim(generation); parts.count != 0; parts = copy.claim(generation)) {
        for (std::uint32_t i = 0; i < parts.count; ++i) ++copies[parts.first + i];
        copy.report_written(generation, parts.count);
      }
    });
    std::uint32_t theirs = kParts;
    start.arrive_and_wait();
    for (auto parts = copy.claim(generation); parts.count != 0; parts = copy.claim(generation)) {
      for (std::uint32_t i = 0; i < parts.count; ++i) ++copies[parts.first + i];
      theirs -= parts.count;
    }
    while (!copy.is_complete(theirs)) std::this_thread::yield();
    ASSERT_EQ(copies, std::vector(kParts, message));
    sender.join();
  }
}

}  // namespace
}  // namespace shim::transport
