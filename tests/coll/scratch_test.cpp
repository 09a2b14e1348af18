// SPDX-License-Identifier: BSD-3-Clause
// Memory that is kept between collectives.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "shim/coll/scratch.hpp"

namespace shim::coll {
namespace {

constexpr std::uint64_t kLong = ScratchPool::kShortest;

class Kept : public ::testing::Test {
 protected:
  const std::byte* address_of(std::uint64_t bytes) {
    Scratch scratch(call_, bytes);
    return scratch.data();
  }
  ScratchPoolPtr pool_ = std::make_shared<ScratchPool>();
  Call call_{nullptr, &pool_, 0, 1, 0};
};

TEST_F(Kept, LongBlocksAreUsedAgain) {
  const std::byte* first = address_of(3 * kLong);
  EXPECT_EQ(address_of(3 * kLong), first);
  EXPECT_EQ(address_of(2 * kLong), first) << "a shorter one fits";
  EXPECT_EQ(pool_->take(kLong).bytes, 4 * kLong) << "an allocator may give the same address by itself; not this much room";
}

TEST_F(Kept, TwoAtATimeDiffer) {
  Scratch one(call_, kLong), two(call_, kLong);
  EXPECT_NE(one.data(), two.data());
  std::fill(one.all().begin(), one.all().end(), std::byte{1});
  std::fill(two.all().begin(), two.all().end(), std::byte{2});
  EXPECT_EQ(one.all().back(), std::byte{1});
  EXPECT_EQ(one.all().size(), kLong);
}

TEST_F(Kept, TheShortestThatFits) {
  const std::byte* large = address_of(16 * kLong);
  const std::byte *small = nullptr;
  {
    Scratch hold(call_, 16 * kLong);
    ASSERT_EQ(hold.data(), large);
    small = address_of(kLong);
  }
  EXPECT_EQ(address_of(kLong), small);
  EXPECT_EQ(address_of(2 * kLong), large);
}

TEST_F(Kept, NoMoreThanSoMuchInAll) {
  { Scratch most(call_, ScratchPool::kMost); }
  const std::byte* kept = address_of(ScratchPool::kMost);
  {
    Scratch all(call_, ScratchPool::kMost), more(call_, kLong);
    ASSERT_EQ(all.data(), kept);
  }  // `more` is given back first and kept; with it there is no room for `all`
  Scratch more(call_, kLong);
  EXPECT_EQ(pool_->take(kLong).bytes, kLong) << "what was too much has been kept";
}

TEST_F(Kept, OutlivesTheCommunicator) {
  auto scratch = std::make_unique<Scratch>(call_, kLong);
  std::weak_ptr<ScratchPool> pool = pool_;
  pool_.reset();
  EXPECT_FALSE(pool.expired());
  scratch.reset();
  EXPECT_TRUE(pool.expired());
}

TEST_F(Kept, NothingTakesNothing) { EXPECT_EQ(address_of(0), nullptr); }

}  // namespace
}  // namespace shim::coll
