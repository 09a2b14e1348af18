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

constexpr std::uint32_t kCells = 64, kFirst = 4, kLaps = 7;
constexpr base::Nanoseconds kCopy = 1000;

/// What a copy takes by the depot's clock is what the test has it take.
class DepotTest : public ::testing::Test {
 protected:
  static inline base::Nanoseconds time = 0;
  static base::Nanoseconds now() { return time; }

  AnonymousArea area{std::make_shared<AnonymousGround>(1, 64, 64, 0, kCells * kDepotCell), 0};
  Depot depot{area, &now};
  DepotWindow window;
  std::set<std::uint32_t> met;   ///< cells that have been filled
  base::Nanoseconds meeting = 0;  ///< takes so much more

  std::optional<std::uint32_t> fill_one(DepotWindow& of) {
    const auto found = depot.find_empty(of);
    if (!found) return found;
    time += kCopy + (met.insert(*found).second ? meeting : 0);
    depot.hand_over(of, *found);
    return found;
  }
  std::optional<std::uint32_t> fill_one() { return fill_one(window); }
  void empty(std::uint32_t cell) { depot.memory().empty_cell_of(depot.memory().cell(cell).packet() + 1); }
  /// One at a time; how many go before the window has so many cells.
  std::uint32_t goes_before(std::uint32_t cells) {
    for (std::uint32_t so_far = 0; so_far < 1'000'000; ++so_far) {
      const auto cell = fill_one();
      if (window.cells >= cells) return so_far;
      if (cell) empty(*cell);
    }
    return ~0u;
  }
};

TEST_F(DepotTest, MemoryIsTakenAsItIsUsedAndNoMoreThanThereIs) {
  EXPECT_EQ(area.backed(), 0u);
  for (std::uint32_t cells = kFirst; cells <= kCells; cells *= 2) {
    const std::uint32_t before = cells / 2;  // the first lap is through what is new
    EXPECT_EQ(goes_before(cells), cells == kFirst ? 0 : (before > kFirst ? before / 2 : 0) + kLaps * before - 1) << cells;
    EXPECT_EQ(area.backed(), cells * kDepotCell);
    empty(*met.rbegin());
  }
  EXPECT_EQ(goes_before(kCells + 1), ~0u);
  EXPECT_EQ(area.backed(), kCells * kDepotCell);
}

TEST_F(DepotTest, AWindowIsGoneThroughFromEndToEnd) {
  for (std::uint32_t i = 0; i < 3 * kFirst; ++i) {
    ASSERT_EQ(fill_one(), i % kFirst);
    empty(i % kFirst);
  }
}

// What it costs to meet a cell is had back several times before more are met, at the sender and at the receiver.
TEST_F(DepotTest, WhereMeetingACellIsDearMoreGoThroughThoseThereAre) {
  meeting = 20 * kCopy;
  constexpr std::uint32_t kDearLaps = 8 * 20;
  ASSERT_EQ(goes_before(kFirst), 0u);
  empty(0);
  EXPECT_EQ(goes_before(2 * kFirst), kDearLaps * kFirst - 1);
  empty(kFirst);
  meeting = 0;  // of those that come now: that is seen
  EXPECT_EQ(goes_before(4 * kFirst), kFirst + kLaps * 2 * kFirst - 1);
}

TEST_F(DepotTest, WhoIsInterruptedInTheMidstOfCopiesIsNotTakenForDear) {
  ASSERT_EQ(fill_one(), 0u);
  empty(0);
  for (std::uint32_t cell = 1; cell < kFirst; ++cell) {
    ASSERT_EQ(depot.find_empty(window), cell);
    time += 1'000'000;
    depot.hand_over(window, cell);
    empty(cell);
  }
  EXPECT_EQ(goes_before(2 * kFirst), (kLaps - 1) * kFirst);
}

TEST_F(DepotTest, WhatIsStillFullMakesItMoreSooner) {
  for (std::uint32_t i = 0; i < kCells; ++i) ASSERT_EQ(fill_one(), i);
  EXPECT_EQ(area.backed(), kCells * kDepotCell);
  EXPECT_FALSE(fill_one());
}

TEST_F(DepotTest, WhatIsStillFullWaitsWhereMeetingACellIsDear) {
  meeting = 80 * kCopy;
  for (std::uint32_t lap = 0; lap < 2; ++lap) {
    for (std::uint32_t i = 0; i < kFirst; ++i) {
      ASSERT_EQ(fill_one(), i);
      if (lap == 0) empty(i);
    }
  }
  EXPECT_FALSE(fill_one());  // its packet goes through the ring
  EXPECT_EQ(window.cells, kFirst);
}

TEST_F(DepotTest, EachReceiverMeetsItsOwnCells) {
  DepotWindow other;
  for (std::uint32_t i = 0; i < kFirst; ++i) {
    ASSERT_EQ(fill_one(), i);
    ASSERT_EQ(fill_one(other), kFirst + i);
  }
  EXPECT_EQ(area.backed(), 2 * kFirst * kDepotCell);
}

TEST_F(DepotTest, WhereThereAreMoreReceiversThanCellsTheyShare) {
  std::vector<DepotWindow> windows(kCells / kFirst + 1);
  for (auto& one : windows) {
    const auto cell = fill_one(one);
    ASSERT_EQ(cell, kFirst * (&one - windows.data()) % kCells);
    empty(*cell);
  }
  EXPECT_EQ(area.backed(), kCells * kDepotCell);
}

TEST_F(DepotTest, WindowsThatHaveBecomeLargeOverlapAndNoneFillsWhatIsAnothers) {
  DepotWindow other;
  ASSERT_EQ(fill_one(other), 0u);  // and its receiver does not read
  std::set<std::uint32_t> filled;
  for (std::uint32_t i = 0; i < 20 * kLaps * kCells; ++i) {
    const auto cell = fill_one();
    ASSERT_TRUE(cell);
    filled.insert(*cell);
    empty(*cell);
  }
  EXPECT_EQ(window.cells, kCells);
  EXPECT_EQ(area.backed(), kCells * kDepotCell);
  EXPECT_EQ(filled.size(), kCells - 1);
  EXPECT_FALSE(filled.contains(0));
}

TEST_F(DepotTest, WhoIsNewUsesMemoryThatIsThereThoughMoreWasRefused) {
  std::vector<DepotWindow> windows(kCells / kFirst);
  for (auto& one : windows) empty(*fill_one(one));
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_EQ(fill_one(), 0u);  // round again
}

TEST_F(DepotTest, WhoIsRefusedMemoryKeepsNobodyElseFromIt) {
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(fill_one());
  area.give_memory();
  DepotWindow other;
  EXPECT_TRUE(fill_one(other));
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
  EXPECT_EQ(depot.find_empty(window), 0u);
  EXPECT_EQ(depot.find_empty(window), 0u);
  depot.hand_over(window, 0);
  EXPECT_EQ(depot.find_empty(window), 1u);
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
  DepotWindow of_it;
  EXPECT_EQ(next.find_empty(of_it), 1u);
  next.hand_over(of_it, 1);
  EXPECT_EQ(next.find_empty(of_it), 3u);
}

TEST(NoDepot, HasNoCells) {
  AnonymousArea area(std::make_shared<AnonymousGround>(1, 64, 64), 0);
  DepotWindow window;
  EXPECT_FALSE(Depot(area).find_empty(window));
  EXPECT_EQ(Depot(area).room(), 0u);
}

}  // namespace
}  // namespace shim::transport
