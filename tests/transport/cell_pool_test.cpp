// SPDX-License-Identifier: BSD-3-Clause
// Tests which cells a sender acquires from its cell pool, and when cells take memory. shm_test.cpp
// tests the packets in them.
#include "shim/transport/shm/cell_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/node/anonymous_area.hpp"

namespace shim::transport {
namespace {

using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

constexpr std::uint32_t kCells = 64, kFirst = 4, kLaps = 256;

class CellPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<AnonymousSegment> segment = std::make_shared<AnonymousSegment>(
      2, 64, 64, 0, kCells* kCellBytes);
  AnonymousArea area{segment, 0};
  CellPool cell_pool{area};
  CellPartition partition;
  std::set<std::uint32_t> touched;  ///< cells that have been filled

  std::optional<std::uint32_t> publish_one(CellPartition& of) {
    const auto found = cell_pool.acquire(of);
    if (!found) return found;
    touched.insert(*found);
    cell_pool.publish(of, *found);
    return found;
  }
  std::optional<std::uint32_t> publish_one() { return publish_one(partition); }
  void release(std::uint32_t cell) {
    cell_pool.memory().release_cell_of(cell_pool.memory().cell(cell).packet() + 1);
  }
  /// Publish and release one cell at a time until the partition has `cells` cells; return the
  /// number of cells published before.
  std::uint32_t published_before_growth(std::uint32_t cells) {
    for (std::uint32_t so_far = 0; so_far < 1'000'000; ++so_far) {
      const auto cell = publish_one();
      if (partition.cells >= cells) return so_far;
      if (cell) release(*cell);
    }
    return ~0u;
  }
};

TEST_F(CellPoolTest, BacksMemoryOnDemandUpToItsSize) {
  EXPECT_EQ(area.backed(), 0u);
  for (std::uint32_t cells = kFirst; cells <= kCells; cells *= 2) {
    const std::uint32_t before = cells / 2;  // the first lap uses only the new cells
    EXPECT_EQ(published_before_growth(cells),
              cells == kFirst ? 0 : (before > kFirst ? before / 2 : 0) + kLaps * before - 1)
        << cells;
    EXPECT_EQ(area.backed(), cells * kCellBytes);
    release(*touched.rbegin());
  }
  EXPECT_EQ(published_before_growth(kCells + 1), ~0u);
  EXPECT_EQ(area.backed(), kCells * kCellBytes);
}

TEST_F(CellPoolTest, PartitionIsUsedRoundRobin) {
  for (std::uint32_t i = 0; i < 3 * kFirst; ++i) {
    ASSERT_EQ(publish_one(), i % kFirst);
    release(i % kFirst);
  }
}

TEST_F(CellPoolTest, GrowsAtOnceIfCellsAreStillFull) {
  for (std::uint32_t i = 0; i < kCells; ++i) ASSERT_EQ(publish_one(), i);
  EXPECT_EQ(area.backed(), kCells * kCellBytes);
  EXPECT_FALSE(publish_one());
}

TEST_F(CellPoolTest, ReceiversBeginWithDisjointCells) {
  CellPartition other;
  for (std::uint32_t i = 0; i < kFirst; ++i) {
    ASSERT_EQ(publish_one(), i);
    ASSERT_EQ(publish_one(other), kFirst + i);
  }
  EXPECT_EQ(area.backed(), 2 * kFirst * kCellBytes);
}

TEST_F(CellPoolTest, ReceiversShareCellsIfThereAreTooFew) {
  std::vector<CellPartition> partitions(kCells / kFirst + 1);
  for (auto& one : partitions) {
    const auto cell = publish_one(one);
    ASSERT_EQ(cell, kFirst * (&one - partitions.data()) % kCells);
    release(*cell);
  }
  EXPECT_EQ(area.backed(), kCells * kCellBytes);
}

TEST_F(CellPoolTest, LargePartitionsOverlapAndSkipFullCells) {
  CellPartition other;
  ASSERT_EQ(publish_one(other), 0u);  // its receiver never releases the cell
  std::set<std::uint32_t> filled;
  for (std::uint32_t i = 0; i < 20 * kLaps * kCells; ++i) {
    const auto cell = publish_one();
    ASSERT_TRUE(cell);
    filled.insert(*cell);
    release(*cell);
  }
  EXPECT_EQ(partition.cells, kCells);
  EXPECT_EQ(area.backed(), kCells * kCellBytes);
  EXPECT_EQ(filled.size(), kCells - 1);
  EXPECT_FALSE(filled.contains(0));
}

TEST_F(CellPoolTest, NewPartitionUsesBackedCellsAfterAllocationFailure) {
  std::vector<CellPartition> partitions(kCells / kFirst);
  for (auto& one : partitions) release(*publish_one(one));
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_EQ(publish_one(), 0u);  // wraps around to the first cell
}

TEST_F(CellPoolTest, AllocationFailureOfOnePartitionDoesNotAffectOthers) {
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(publish_one());
  area.give_memory();
  CellPartition other;
  EXPECT_TRUE(publish_one(other));
}

TEST_F(CellPoolTest, OversubscribedProcessesUseAPartOfTheirPool) {
  AnonymousArea(segment, 1, AnonymousArea::core(0)).set_ready();
  EXPECT_EQ(cell_pool.capacity_bytes(), kCells / 2 * kCellBytes);
  std::uint32_t found = 0;
  while (found <= kCells && publish_one()) ++found;
  EXPECT_EQ(found, kCells / 2);
  EXPECT_EQ(cell_pool.capacity_bytes(), kCells / 2 * kCellBytes);
}

TEST_F(CellPoolTest, AcquireReturnsTheSameCellUntilItIsPublished) {
  EXPECT_EQ(cell_pool.acquire(partition), 0u);
  EXPECT_EQ(cell_pool.acquire(partition), 0u);
  cell_pool.publish(partition, 0);
  EXPECT_EQ(cell_pool.acquire(partition), 1u);
}

TEST_F(CellPoolTest, SkipsFullCells) {
  std::set<std::uint32_t> filled;
  while (const auto cell = publish_one()) ASSERT_TRUE(filled.insert(*cell).second) << *cell;
  ASSERT_EQ(filled.size(), kCells);
  release(37);
  std::optional<std::uint32_t> found;
  for (std::uint32_t looks = 0; !found && looks < kCells; ++looks) found = publish_one();
  EXPECT_EQ(found, 37u);
  EXPECT_FALSE(publish_one());
}

TEST_F(CellPoolTest, AcquireFailsWithoutMemory) {
  EXPECT_EQ(cell_pool.capacity_bytes(), kCells * kCellBytes);
  area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(publish_one());
  EXPECT_FALSE(publish_one());
  EXPECT_EQ(cell_pool.capacity_bytes(), 0u);
}

TEST_F(CellPoolTest, ReusesBackedCellsIfGrowthFails) {
  for (std::uint32_t i = 0; i < kFirst; ++i) ASSERT_EQ(publish_one(), i);
  area.refuse_memory(base::ErrorClass::no_space);
  for (std::uint32_t i = 0; i < kFirst; ++i) release(i);
  for (std::uint32_t i = 0; i < 300 * kFirst; ++i) {
    ASSERT_EQ(publish_one(), i % kFirst);
    release(i % kFirst);
  }
  EXPECT_EQ(cell_pool.capacity_bytes(), kFirst * kCellBytes);
}

// Receivers may still read cells that an earlier incarnation in the same slot left full.
TEST_F(CellPoolTest, AnotherIncarnationKeepsFullCells) {
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(publish_one(), i);
  release(1);
  CellPool next(area);
  CellPartition partition_of_next;
  EXPECT_EQ(next.acquire(partition_of_next), 1u);
  next.publish(partition_of_next, 1);
  EXPECT_EQ(next.acquire(partition_of_next), 3u);
}

TEST(NoCellPool, HasNoCells) {
  AnonymousArea area(std::make_shared<AnonymousSegment>(1, 64, 64), 0);
  CellPartition partition;
  EXPECT_FALSE(CellPool(area).acquire(partition));
  EXPECT_EQ(CellPool(area).capacity_bytes(), 0u);
}

}  // namespace
}  // namespace shim::transport
