// SPDX-License-Identifier: BSD-3-Clause
// Tests the scratch memory that is kept between collectives.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

constexpr std::uint64_t kLong = ScratchPool::kShortest;

class ScratchMemory : public ::testing::Test {
 protected:
  const std::byte* address_of(std::uint64_t bytes) {
    Scratch scratch(call_, bytes);
    return scratch.data();
  }
  ScratchPoolPtr pool_ = std::make_shared<ScratchPool>();
  Call call_{nullptr, &pool_, 0, 1, 0};
};

TEST_F(ScratchMemory, LongBlocksAreReused) {
  const std::byte* first = address_of(3 * kLong);
  EXPECT_EQ(address_of(3 * kLong), first);
  EXPECT_EQ(address_of(2 * kLong), first) << "a shorter request fits";
  EXPECT_EQ(pool_->take(kLong).bytes, 4 * kLong)
      << "a plain allocator may return an equal address, but not this length";
}

TEST_F(ScratchMemory, ConcurrentBlocksAreDisjoint) {
  Scratch one(call_, kLong), two(call_, kLong);
  EXPECT_NE(one.data(), two.data());
  std::fill(one.all().begin(), one.all().end(), std::byte{1});
  std::fill(two.all().begin(), two.all().end(), std::byte{2});
  EXPECT_EQ(one.all().back(), std::byte{1});
  EXPECT_EQ(one.all().size(), kLong);
}

TEST_F(ScratchMemory, ReusesTheShortestBlockThatFits) {
  const std::byte* large = address_of(16 * kLong);
  const std::byte* small = nullptr;
  {
    Scratch hold(call_, 16 * kLong);
    ASSERT_EQ(hold.data(), large);
    small = address_of(kLong);
  }
  EXPECT_EQ(address_of(kLong), small);
  EXPECT_EQ(address_of(2 * kLong), large);
}

TEST_F(ScratchMemory, LimitsTheKeptMemory) {
  { Scratch most(call_, ScratchPool::kMost); }
  const std::byte* kept = address_of(ScratchPool::kMost);
  {
    Scratch all(call_, ScratchPool::kMost), more(call_, kLong);
    ASSERT_EQ(all.data(), kept);
  }  // `more` is released first and kept; `all` would then exceed the limit
  Scratch more(call_, kLong);
  EXPECT_EQ(pool_->take(kLong).bytes, kLong) << "a block beyond the limit has been kept";
}

TEST_F(ScratchMemory, OutlivesTheCommunicator) {
  auto scratch = std::make_unique<Scratch>(call_, kLong);
  std::weak_ptr<ScratchPool> pool = pool_;
  pool_.reset();
  EXPECT_FALSE(pool.expired());
  scratch.reset();
  EXPECT_TRUE(pool.expired());
}

TEST_F(ScratchMemory, EmptyBlockTakesNoMemory) { EXPECT_EQ(address_of(0), nullptr); }

}  // namespace
}  // namespace shim::coll
