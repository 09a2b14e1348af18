// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/handle_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace shim::intercept {
namespace {

using Table = HandleTable<std::shared_ptr<int>, MPI_Comm>;

MPI_Comm put(Table& table, int value) {
  auto made = table.insert(std::make_shared<int>(value));
  return made ? *made : MPI_Comm{};
}

abi::Handle fields(MPI_Comm handle) { return abi::decode(abi::bits(handle)); }

TEST(HandleTable, FindsInsertedObjects) {
  static Table table(abi::HandleKind::group);
  MPI_Comm handle = put(table, 7);
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(**table.find(handle), 7);
  EXPECT_EQ(fields(handle).kind, abi::HandleKind::group);
}

TEST(HandleTable, StaleHandlesAreDetected) {
  static Table table(abi::HandleKind::comm);
  MPI_Comm handle = put(table, 1);
  ASSERT_TRUE(table.take(handle).has_value());
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_FALSE(table.take(handle).has_value());
  bool is_reused = false;
  for (int i = 0; i < 1000; ++i) is_reused |= fields(put(table, i)).slot == fields(handle).slot;
  EXPECT_TRUE(is_reused);
  EXPECT_EQ(table.find(handle), nullptr)
      << "a stale handle must not find the new object of its slot";
}

TEST(HandleTable, VisitsObjectsWithAHandle) {
  static Table table(abi::HandleKind::group);
  std::vector<MPI_Comm> handles;
  for (int i = 0; i < 200; ++i) handles.push_back(put(table, i));
  for (int i = 0; i < 200; i += 2) table.take(handles[static_cast<std::size_t>(i)]);
  std::set<int> visited;
  table.for_each([&](const std::shared_ptr<int>& value) { visited.insert(*value); });
  EXPECT_EQ(visited.size(), 100u);
  for (const int value : visited) EXPECT_EQ(value % 2, 1);
}

TEST(HandleTable, OtherKindsAndForeignHandlesAreNotFound) {
  static Table comms(abi::HandleKind::comm), requests(abi::HandleKind::request);
  MPI_Comm handle = put(comms, 1);
  EXPECT_EQ(requests.find(handle), nullptr);
  EXPECT_EQ(comms.find(abi::from_bits<MPI_Comm>(4096)), nullptr);
  EXPECT_EQ(comms.find(MPI_Comm{}), nullptr);
  EXPECT_EQ(comms.find(abi::from_bits<MPI_Comm>(abi::encode({abi::HandleKind::comm, 5000, 0}))),
            nullptr)
      << "the slot was never used";
}

TEST(HandleTable, ObjectThatCannotBeMadeTakesNoSlot) {
  static Table table(abi::HandleKind::info);
  const auto make = []() -> std::shared_ptr<int> { throw std::bad_alloc(); };
  EXPECT_THROW(Table::PendingEntry(table, make), std::bad_alloc);
  EXPECT_EQ(table.live(), 0u);
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 64; ++i) slots.insert(fields(put(table, i)).slot);
  EXPECT_EQ(slots.size(), 64u);
  EXPECT_LT(*slots.rbegin(), 64u) << "the first slots must suffice";
}

TEST(HandleTable, EntriesDoNotMoveWhileTheTableGrows) {
  static Table table(abi::HandleKind::info);
  MPI_Comm first = put(table, -1);
  auto* entry = table.find(first);
  std::set<MPI_Comm> handles;
  for (int i = 0; i < 10000; ++i) handles.insert(put(table, i));
  EXPECT_EQ(handles.size(), 10000u) << "all handles must differ";
  EXPECT_EQ(table.find(first), entry);
  EXPECT_EQ(table.live(), 10001u);
}

TEST(HandleTable, TakeReleasesOnlyTheTablesReference) {
  static Table table(abi::HandleKind::session);
  auto object = std::make_shared<int>(3);
  auto handle = table.insert(std::shared_ptr<int>(object));
  ASSERT_TRUE(handle);
  EXPECT_EQ(object.use_count(), 2);
  table.take(*handle);
  EXPECT_EQ(object.use_count(), 1);
}

TEST(HandleTable, ObjectWithoutAHandleIsReleasedWithItsGuard) {
  static Table table(abi::HandleKind::win);
  auto object = std::make_shared<int>(4);
  {
    Table::PendingEntry made(table, [&] { return object; });
    ASSERT_TRUE(made);
    EXPECT_EQ(object.use_count(), 2);
    table.for_each([](const std::shared_ptr<int>&) {
      ADD_FAILURE() << "an object without a handle must not be visited";
    });
  }
  EXPECT_EQ(object.use_count(), 1);
  EXPECT_EQ(table.live(), 0u);
  Table::PendingEntry made(table, [&] { return object; });
  *made = std::make_shared<int>(5);
  const MPI_Comm handle = made.publish_handle();
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(**table.find(handle), 5);
}

TEST(HandleTable, EraserRemovesEachObjectOnce) {
  static Table table(abi::HandleKind::file);
  auto object = std::make_shared<int>(6);
  std::vector<MPI_Comm> handles;
  std::vector<std::shared_ptr<int>*> found;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(*table.insert(std::shared_ptr<int>(object)));
    found.push_back(table.find(handles.back()));
  }
  table.take(handles[7]);
  {
    Table::Eraser eraser(table);
    for (std::size_t i = 0; i < handles.size(); ++i)
      EXPECT_EQ(eraser.erase(*found[i], handles[i]), i != 7);
    EXPECT_FALSE(eraser.erase(*found[3], handles[3]));
  }
  EXPECT_EQ(object.use_count(), 1);
  EXPECT_EQ(table.live(), 0u);
  for (MPI_Comm handle : handles) EXPECT_EQ(table.find(handle), nullptr);
}

TEST(HandleTable, ConcurrentInsertAndTakeWork) {
  static Table table(abi::HandleKind::request);
  constexpr int kThreads = 4, kRounds = 5000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < kRounds; ++i) {
        int value = t * kRounds + i;
        MPI_Comm handle = put(table, value);
        auto* found = table.find(handle);
        if (found == nullptr || **found != value) ++wrong;
        auto taken = table.take(handle);
        if (!taken || **taken != value || table.find(handle) != nullptr) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(table.live(), 0u);
}

TEST(HandleTable, OneOfTwoConcurrentTakesSucceeds) {
  static Table table(abi::HandleKind::message);
  for (int round = 0; round < 500; ++round) {
    MPI_Comm handle = put(table, round);
    std::atomic<int> taken{0};
    std::thread other([&] { taken += table.take(handle).has_value(); });
    taken += table.take(handle).has_value();
    other.join();
    ASSERT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace shim::intercept
