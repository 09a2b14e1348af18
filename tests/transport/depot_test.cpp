// SPDX-License-Identifier: BSD-3-Clause
// Depots: which cells a sender finds, and when they take memory. What goes through them is in shm_test.cpp.
#include "shim/transport/shm/depot.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/transport/anonymous_area.hpp"

namespace shim::transport {
namespace {

using testing::AnonymousArea;
using testing::AnonymousGround;

constexpr std::uint32_t kCells = 64, kFirst = 16;

class DepotTest : public ::testing::Test {
 protected:
  AnonymousArea area{std::make_shared<AnonymousGround>(1, 64, 64, 0, kCells * kDepotCell), 0};
  Depot depot{area};

  std::optional<std::uint32_t> fill_one() {
    const auto found = depot.find_empty();
    if (found) depot.hand_over(*found);
    return found;
  }
  void empty(std::uint32_t cell) { depot.memory().empty_cell_of(depot.memory().cell(cell).packet() + 1); }
};

TEST_F(DepotTest, MemoryIsTakenAsItIsUsedAndNoMoreThanThereIs) {
  EXPECT_EQ(area.backed(), 0u);
  std::uint32_t so_far = 0, expected = 0;
  constexpr std::uint32_t kLaps = 8;  // through all there is, before it becomes more
  for (const auto& [used, backed] : {std::pair{1u, kFirst}, {kLaps * kFirst, kFirst}, {kLaps * kFirst + 1, 2 * kFirst}, {(kLaps + 15) * kFirst, 2 * kFirst},
                                     {(kLaps + 15) * kFirst + 1, kCells}, {100 * kCells, kCells}}) {
    for (; so_far < used; ++so_far, ++expected) {
      const std::size_t before = area.backed();
      const auto cell = fill_one();
      if (expected * kDepotCell == before && area.backed() == before) expected = 0;  // a lap is over, and nothing has been added
      ASSERT_EQ(cell, expected);
      empty(*cell);
    }
    EXPECT_EQ(area.backed(), backed * kDepotCell) << used;
  }
}

TEST_F(DepotTest, WhatIsFullMakesItMoreAtOnce) {
  for (std::uint32_t i = 0; i < kCells; ++i) ASSERT_EQ(fill_one(), i);
  EXPECT_EQ(area.backed(), kCells * kDepotCell);
  EXPECT_FALSE(fill_one());
}

TEST_F(DepotTest, WhereProcessesShareCoresEachUsesAPart) {
  area.set_processes_per_core(2);
  EXPECT_EQ(depot.room(), kCells / 2 * kDepotCell);
  std::uint32_t found = 0;
  while (found <= kCells && fill_one()) ++found;
  EXPECT_EQ(found, kCells / 2);
  EXPECT_EQ(depot.room(), kCells / 2 * kDepotCell);
}

TEST_F(DepotTest, OneThatIsFoundAndNotHandedOverIsFoundAgain) {
  EXPECT_EQ(depot.find_empty(), 0u);
  EXPECT_EQ(depot.find_empty(), 0u);
  depot.hand_over(0);
  EXPECT_EQ(depot.find_empty(), 1u);
}

TEST_F(DepotTest, WhatIsFullIsPassedBy) {
  std::set<std::uint32_t> filled;
  while (const auto cell = fill_one()) ASSERT_TRUE(filled.insert(*cell).second) << *cell;
  ASSERT_EQ(filled.size(), kCells);
  empty(37);
  std::optional<std::uint32_t> found;
  for (std::uint32_t looks = 0; !found && looks < kCells; ++looks) found = fill_one();
  EXPECT_EQ(found, 37u);
  EXPECT_FALSE(fill_one());
}

TEST_F(DepotTest, WithoutMemoryNoneIsFound) {
  EXPECT_EQ(depot.room(), kCells * kDepotCell);
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(fill_one());
  EXPECT_FALSE(fill_one());
  EXPECT_EQ(depot.room(), 0u);
}

TEST_F(DepotTest, WhereThereIsNoMoreMemoryWhatThereIsGoesOn) {
  for (std::uint32_t i = 0; i < kFirst; ++i) ASSERT_EQ(fill_one(), i);
  area.refuse_memory(base::ErrorClass::no_space);
  for (std::uint32_t i = 0; i < kFirst; ++i) empty(i);
  for (std::uint32_t i = 0; i < 300 * kFirst; ++i) {
    ASSERT_EQ(fill_one(), i % kFirst);
    empty(i % kFirst);
  }
  EXPECT_EQ(depot.room(), kFirst * kDepotCell);
}

// What a former life at the same slot has left full is its receivers', who may come to it yet.
TEST_F(DepotTest, AnotherLifeLeavesAloneWhatIsFull) {
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(fill_one(), i);
  empty(1);
  Depot next(area);
  EXPECT_EQ(next.find_empty(), 1u);
  next.hand_over(1);
  EXPECT_EQ(next.find_empty(), 3u);
}

TEST(NoDepot, HasNoCells) {
  AnonymousArea area(std::make_shared<AnonymousGround>(1, 64, 64), 0);
  EXPECT_FALSE(Depot(area).find_empty());
  EXPECT_EQ(Depot(area).room(), 0u);
}

}  // namespace
}  // namespace shim::transport
