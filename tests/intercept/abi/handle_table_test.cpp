// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handle_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace shim::intercept {
namespace {

using Table = HandleTable<std::shared_ptr<int>>;

void* put(Table& table, int value) {
  auto made = table.insert(std::make_shared<int>(value));
  return made ? *made : nullptr;
}

TEST(HandleTable, FindsWhatWasPutIn) {
  static Table table(abi::Kind::group);
  void* handle = put(table, 7);
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(**table.find(handle), 7);
  EXPECT_EQ(abi::decode(handle).kind, abi::Kind::group);
}

TEST(HandleTable, StaleHandlesAreFound) {
  static Table table(abi::Kind::comm);
  void* handle = put(table, 1);
  ASSERT_TRUE(table.take(handle).has_value());
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_FALSE(table.take(handle).has_value());
  bool used_again = false;
  for (int i = 0; i < 1000; ++i) used_again |= abi::decode(put(table, i)).slot == abi::decode(handle).slot;
  EXPECT_TRUE(used_again);
  EXPECT_EQ(table.find(handle), nullptr) << "the slot's new object is not the old one";
}

TEST(HandleTable, OtherKindsAndForeignPointersAreNotFound) {
  static Table comms(abi::Kind::comm), requests(abi::Kind::request);
  int local = 0;
  void* handle = put(comms, 1);
  EXPECT_EQ(requests.find(handle), nullptr);
  EXPECT_EQ(comms.find(&local), nullptr);
  EXPECT_EQ(comms.find(nullptr), nullptr);
  EXPECT_EQ(comms.find(abi::encode({abi::Kind::comm, 5000, 0})), nullptr) << "a slot that was never used";
}

TEST(HandleTable, EntriesDoNotMoveWhileTheTableGrows) {
  static Table table(abi::Kind::info);
  void* first = put(table, -1);
  auto* entry = table.find(first);
  std::set<void*> handles;
  for (int i = 0; i < 10000; ++i) handles.insert(put(table, i));
  EXPECT_EQ(handles.size(), 10000u) << "every handle is its own";
  EXPECT_EQ(table.find(first), entry);
  EXPECT_EQ(table.live(), 10001u);
}

TEST(HandleTable, TakingOutDestroysOnlyTheTablesHold) {
  static Table table(abi::Kind::session);
  auto object = std::make_shared<int>(3);
  auto handle = table.insert(object);
  ASSERT_TRUE(handle);
  EXPECT_EQ(object.use_count(), 2);
  table.take(*handle);
  EXPECT_EQ(object.use_count(), 1);
}

TEST(HandleTable, ManyThreadsPutInAndTakeOut) {
  static Table table(abi::Kind::request);
  constexpr int kThreads = 4, kRounds = 5000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < kRounds; ++i) {
        int value = t * kRounds + i;
        void* handle = put(table, value);
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

TEST(HandleTable, OfTwoThreadsThatTakeOneSucceeds) {
  static Table table(abi::Kind::message);
  for (int round = 0; round < 500; ++round) {
    void* handle = put(table, round);
    std::atomic<int> taken{0};
    std::thread other([&] { taken += table.take(handle).has_value(); });
    taken += table.take(handle).has_value();
    other.join();
    ASSERT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace shim::intercept
