// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/copy_between_cores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace shim::base {
namespace {

std::vector<std::byte> some(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 2654435761 >> 13);
  return data;
}

using Copy = void (*)(void* to, const void* from, std::size_t length);
struct Named {
  const char* name;
  Copy copy;
};
std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.name; }

class CopyFunction : public ::testing::TestWithParam<Named> {};

TEST_P(CopyFunction, CopiesEveryLengthAtEveryAlignment) {
  constexpr std::size_t kLongest = 5000, kRoom = kLongest + 256;
  const std::vector<std::byte> from = some(kRoom);
  std::vector<std::byte> to(kRoom), expected(kRoom);
  std::size_t shift = 0;
  for (std::size_t length = 0; length <= kLongest; length += length < 300 ? 1 : 61) {
    shift = (shift + 7) % 64;
    const std::size_t ahead = (shift * 5) % 64;
    std::fill(to.begin(), to.end(), std::byte{});
    std::fill(expected.begin(), expected.end(), std::byte{});
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(shift), length,
                expected.begin() + static_cast<std::ptrdiff_t>(ahead));
    GetParam().copy(to.data() + ahead, from.data() + shift, length);
    ASSERT_TRUE(to == expected) << length << " bytes from offset " << shift << " to offset "
                                << ahead;
  }
}

// The functions use other instructions if source and target are close modulo the page size.
TEST_P(CopyFunction, CopiesAtEverySmallDistanceModuloThePageSize) {
  constexpr std::size_t kPage = 4096;
  for (const std::size_t length : {std::size_t{1500}, std::size_t{2049}, std::size_t{2112},
                                   std::size_t{4800}, std::size_t{3 * 2048 + 5}, 3 * kPage + 5}) {
    std::vector<std::byte> memory(9 * kPage);
    std::byte* const from = memory.data();
    const std::vector<std::byte> data = some(length);
    std::copy(data.begin(), data.end(), from);
    for (std::size_t distance = 0; distance <= 40; ++distance) {
      std::byte* const to = from + 4 * kPage + distance;
      std::fill(from + length, memory.data() + memory.size(), std::byte{0xee});
      GetParam().copy(to, from, length);
      ASSERT_TRUE(std::equal(to, to + length, from)) << length << " at " << distance;
      ASSERT_EQ(to[-1], std::byte{0xee}) << length << " at " << distance;
      ASSERT_EQ(to[length], std::byte{0xee}) << length << " at " << distance;
    }
  }
}

TEST_P(CopyFunction, AcceptsNullPointersForZeroBytes) { GetParam().copy(nullptr, nullptr, 0); }

// A release store after the copy publishes all of it, although some functions use non-temporal
// stores.
TEST_P(CopyFunction, ReleaseStorePublishesTheWholeCopy) {
  constexpr std::size_t kBytes = 4096;
  constexpr int kRounds = 2000;
  std::vector<std::byte> memory(kBytes + 64);
  std::atomic<int> written{0}, read{0};
  std::thread reader([&] {
    std::vector<std::byte> seen(kBytes);
    for (int round = 1; round <= kRounds; ++round) {
      for (int now = written.load(std::memory_order_acquire); now != round;
           now = written.load(std::memory_order_acquire))
        written.wait(now);
      copy_from_other_core(seen.data(), memory.data() + 8, kBytes);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), static_cast<std::byte>(round)),
                static_cast<std::ptrdiff_t>(kBytes))
          << round;
      read.store(round, std::memory_order_release);
      read.notify_one();
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    const std::vector<std::byte> data(kBytes, static_cast<std::byte>(round));
    GetParam().copy(memory.data() + 8, data.data(), kBytes);
    written.store(round, std::memory_order_release);
    written.notify_one();
    for (int now = read.load(std::memory_order_acquire); now != round;
         now = read.load(std::memory_order_acquire))
      read.wait(now);
  }
  reader.join();
}

/// Copy by one CopyForOtherCore for all calls, so that trials and both kinds of stores occur.
void copy_for_other_core(void* to, const void* from, std::size_t length) {
  static CopyForOtherCore copy;
  copy(to, from, length);
}

INSTANTIATE_TEST_SUITE_P(All, CopyFunction,
                         ::testing::Values(Named{"long", copy_long},
                                           Named{"from_other_core", copy_from_other_core},
                                           Named{"past_caches", copy_past_caches},
                                           Named{"for_other_core", copy_for_other_core}),
                         [](const auto& named) { return std::string(named.param.name); });

TEST(CopyForOtherCore, ShortDataMayAlwaysBeProducedInPlace) {
  CopyForOtherCore copy;
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(copy.may_produce_in_place(1023));
}

// Otherwise a program that sends only packed data would never time the two kinds of stores.
TEST(CopyForOtherCore, LongDataIsCopiedWhenATrialIsDue) {
  CopyForOtherCore copy;
  int produced_in_place = 0;
  while (copy.may_produce_in_place(4096) && produced_in_place < 10'000) ++produced_in_place;
  EXPECT_LT(produced_in_place, 10'000);
  EXPECT_GT(produced_in_place, 0);
  std::vector<std::byte> from = some(4096), to(4096);
  for (int trial = 0; trial < 4; ++trial) {
    EXPECT_FALSE(copy.may_produce_in_place(4096));
    copy(to.data(), from.data(), 4096);
  }
  EXPECT_TRUE(to == from);
}

}  // namespace
}  // namespace shim::base
