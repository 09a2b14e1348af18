// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/address_table.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace shim::bootstrap {
namespace {

/// Memory as the node segment gives it: zero, and not to be touched before it is backed.
struct Ground {
  explicit Ground(std::uint32_t count)
      : processes(count),
        marks(AddressTable::marks_for(count)),
        records(AddressTable::chunks_for(count) * AddressTable::kRecordsPerChunk) {}
  AddressTable table() {
    return {marks, records, [this](std::byte* begin, std::size_t bytes) -> base::Status {
              EXPECT_EQ((begin - reinterpret_cast<std::byte*>(records.data())) % 4096, 0);
              EXPECT_EQ(bytes, 4096u);
              if (is_full) return base::Error(base::ErrorClass::no_space, "full");
              ++backings;
              return {};
            }};
  }
  std::uint32_t processes;
  std::vector<std::atomic<std::uint64_t>> marks;
  std::vector<AddressRecord> records;
  std::atomic<int> backings = 0;
  bool is_full = false;
};

std::vector<std::byte> address(std::uint32_t rank, std::uint32_t life, std::size_t length = 17) {
  return std::vector<std::byte>(length, static_cast<std::byte>(rank * 7 + life + 1));
}

TEST(AddressTable, WhatOneInsertsAnotherFinds) {
  Ground ground(100);
  AddressTable writer = ground.table(), reader = ground.table();
  EXPECT_FALSE(reader.find(70));
  EXPECT_TRUE(writer.insert(70, 0, address(70, 0)));
  const auto found = reader.find(70);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->life, 0u);
  EXPECT_EQ(found->bytes, address(70, 0));
  EXPECT_FALSE(reader.find(69)) << "its page is there, its record is not";
  EXPECT_EQ(ground.backings, 1);
}

TEST(AddressTable, ALaterLifeReplacesAnEarlierAndNeverTheOtherWayRound) {
  Ground ground(4);
  AddressTable table = ground.table();
  EXPECT_TRUE(table.insert(1, 2, address(1, 2)));
  EXPECT_TRUE(table.insert(1, 5, address(1, 5, AddressRecord::kMostBytes)));
  EXPECT_TRUE(table.insert(1, 3, address(1, 3)));
  EXPECT_EQ(table.life_of(1), 5u);
  EXPECT_EQ(table.find(1)->bytes, address(1, 5, AddressRecord::kMostBytes));
}

TEST(AddressTable, WhatDoesNotFitIsSaidToBeElsewhere) {
  Ground ground(4);
  AddressTable table = ground.table();
  EXPECT_FALSE(table.insert(4000, 0, address(0, 0)));
  EXPECT_FALSE(table.find(4000));
  EXPECT_FALSE(table.insert(1, 0, address(1, 0, AddressRecord::kMostBytes + 1)));
  EXPECT_TRUE(table.insert(1, 0, address(1, 0, AddressRecord::kMostBytes)));
  EXPECT_FALSE(table.insert(1, AddressRecord::kLastLife + 1, address(1, 0)));
  EXPECT_TRUE(table.insert(1, AddressRecord::kLastLife, address(1, 0)));
  EXPECT_EQ(table.life_of(1), AddressRecord::kLastLife);
  Ground other(4);
  other.is_full = true;
  EXPECT_FALSE(other.table().insert(1, 0, address(1, 0)));
  EXPECT_FALSE(other.table().find(1));
}

/// A writer that was killed in the middle leaves a record that is none, and the next writer is not kept from it.
TEST(AddressTable, AHalfWrittenRecordIsNone) {
  Ground ground(4);
  AddressTable table = ground.table();
  ASSERT_TRUE(table.insert(2, 1, address(2, 1, AddressRecord::kMostBytes)));
  for (std::size_t word = 0; word < AddressRecord::kWords; ++word) {
    auto& damaged = ground.records[2].words[word];
    const std::uint64_t right = damaged.exchange(damaged ^ 0x10);
    EXPECT_FALSE(table.find(2)) << word;
    damaged = right;
  }
  ground.records[2].words[3] = 99;
  EXPECT_TRUE(table.insert(2, 1, address(2, 1)));
  EXPECT_EQ(table.life_of(2), 1u);
  EXPECT_FALSE(table.find(3)) << "a record that was copied to another's place would not count either";
  for (std::size_t word = 0; word < AddressRecord::kWords; ++word) ground.records[3].words[word] = ground.records[2].words[word].load();
  EXPECT_FALSE(table.find(3));
}

/// The records of a page that calls `interrupt`, once, when somebody is about to write to it: after that one has read what is there.
class InterruptedPage {
 public:
  explicit InterruptedPage(std::function<void()> interrupt)
      : page_(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    interrupt_ = [page = page_, then = std::move(interrupt)] {
      ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
      then();
    };
    struct sigaction action{};
    action.sa_handler = [](int) { interrupt_(); };
    ::sigaction(SIGSEGV, &action, &before_);
  }
  ~InterruptedPage() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    ::munmap(page_, 4096);
  }
  std::span<AddressRecord> records() const { return {static_cast<AddressRecord*>(page_), AddressTable::kRecordsPerChunk}; }

 private:
  static inline std::function<void()> interrupt_;
  void* page_;
  struct sigaction before_{};
};

/// One has looked, and then does not run until another has written a later life: its own comes too late.
TEST(AddressTable, ASlowWriterDoesNotUndoALaterLife) {
  std::vector<std::atomic<std::uint64_t>> marks(1);
  std::function<void()> meanwhile;
  InterruptedPage page([&] { meanwhile(); });
  const auto back = [](std::byte*, std::size_t) { return base::Status(); };
  AddressTable slow(marks, page.records(), back), quick(marks, page.records(), back);
  int interruptions = 0;
  const auto later = address(3, 2);  // a signal handler takes no memory
  meanwhile = [&] {
    ++interruptions;
    EXPECT_TRUE(quick.insert(3, 2, later));
  };
  EXPECT_TRUE(slow.insert(3, 1, address(3, 1)));
  EXPECT_EQ(interruptions, 1);
  EXPECT_EQ(quick.life_of(3), 2u);
  EXPECT_EQ(quick.find(3)->bytes, later);
}

/// Whatever readers find is whole, and never of an earlier life than what they have found before; the last life wins.
TEST(AddressTable, ManyWriteAndReadAtOnce) {
  constexpr std::uint32_t kProcesses = 64, kLives = 200;
  Ground ground(kProcesses);
  std::atomic<int> writing = 3;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer)
    threads.emplace_back([&] {
      AddressTable table = ground.table();
      for (std::uint32_t life = 0; life < kLives; ++life)
        for (std::uint32_t rank = 0; rank < kProcesses; ++rank) (void)table.insert(rank, life, address(rank, life));
      --writing;
    });
  AddressTable table = ground.table();
  std::vector<std::uint32_t> last(kProcesses);
  while (writing > 0) {
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      const auto found = table.find(rank);
      if (!found) continue;
      ASSERT_EQ(found->bytes, address(rank, found->life));
      ASSERT_GE(found->life, last[rank]);
      last[rank] = found->life;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) EXPECT_EQ(table.life_of(rank), kLives - 1);
}

}  // namespace
}  // namespace shim::bootstrap
