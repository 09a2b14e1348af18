// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/doorbell.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/node/wake.hpp"

namespace shim::node {
namespace {

constexpr base::Nanoseconds kLong = 20'000'000'000;

class DoorbellTest : public ::testing::Test {
 protected:
  DoorbellTest() {
    auto made = Doorbell::make();
    EXPECT_TRUE(made);
    bell.emplace(std::move(*made));
    int both[2];
    EXPECT_EQ(::pipe(both), 0);
    end = base::Descriptor(both[0]);
    beginning = base::Descriptor(both[1]);
  }
  /// Wait at most this long; return the duration.
  base::Nanoseconds wait(base::Nanoseconds longest) {
    const int descriptor = end.get();
    const base::Nanoseconds start = base::now_ns();
    bell->wait({&descriptor, 1}, longest);
    return base::now_ns() - start;
  }

  std::optional<Doorbell> bell;
  base::Descriptor end, beginning;
};

TEST_F(DoorbellTest, RingEndsAWait) {
  std::thread other([&] { ring(bell->name()); });
  EXPECT_LT(wait(kLong), kLong / 2);
  other.join();
}

TEST_F(DoorbellTest, ReadableDescriptorEndsAWait) {
  ASSERT_EQ(::write(beginning.get(), "x", 1), 1);
  EXPECT_LT(wait(kLong), kLong / 2);
}

TEST_F(DoorbellTest, RingIsConsumedOnce) {
  for (int i = 0; i < 100; ++i) ring(bell->name());  // more than the system queues
  EXPECT_LT(wait(kLong), kLong / 2);
  EXPECT_GE(wait(20'000'000), 20'000'000);
}

TEST_F(DoorbellTest, RingingAnUnknownBellHasNoEffect) {
  const std::uint64_t name = bell->name();
  bell.reset();
  ring(name);
  ring(0);
}

TEST_F(DoorbellTest, SleeperAtTheDoorbellIsWokenOnlyThere) {
  WakeWords words{};
  words.doorbell = bell->name();
  const std::uint32_t ticket = announce_sleep(words, kAtDoorbell);
  wake_sleepers(words);
  EXPECT_LT(wait(kLong), kLong / 2);
  EXPECT_EQ(words.sequence, ticket);
  announce_sleep(words);
  announce_sleep(words, kAtDoorbell);
  leave_doorbell(words);
  wake_sleepers(words);
  EXPECT_GE(wait(20'000'000), 20'000'000)
      << "the doorbell of a thread that no longer sleeps is not rung";
  EXPECT_EQ(words.sequence, ticket + 1) << "the other thread still sleeps on the futex word";
}

}  // namespace
}  // namespace shim::node
