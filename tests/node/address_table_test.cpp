// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/address_table.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace shim::node {
namespace {

/// Memory as the node segment provides it: zeroed, and not accessed before it is backed.
struct Fixture {
  explicit Fixture(std::uint32_t count)
      : processes(count),
        marks(AddressTable::chunk_bitmap_words(count)),
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

std::vector<std::byte> address(std::uint32_t rank, std::uint32_t incarnation,
                               std::size_t length = 17) {
  return std::vector<std::byte>(length, static_cast<std::byte>(rank * 7 + incarnation + 1));
}

TEST(AddressTable, InsertedAddressIsFoundByAnotherProcess) {
  Fixture fixture(100);
  AddressTable writer = fixture.table(), reader = fixture.table();
  EXPECT_FALSE(reader.find(70));
  EXPECT_TRUE(writer.insert(70, 0, address(70, 0)));
  const auto found = reader.find(70);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->incarnation, 0u);
  EXPECT_EQ(found->bytes, address(70, 0));
  EXPECT_FALSE(reader.find(69)) << "its page is backed, but its record is empty";
  EXPECT_EQ(fixture.backings, 1);
}

TEST(AddressTable, OnlyALaterIncarnationReplacesARecord) {
  Fixture fixture(4);
  AddressTable table = fixture.table();
  EXPECT_TRUE(table.insert(1, 2, address(1, 2)));
  EXPECT_TRUE(table.insert(1, 5, address(1, 5, AddressRecord::kMaxBytes)));
  EXPECT_TRUE(table.insert(1, 3, address(1, 3)));
  EXPECT_EQ(table.incarnation_of(1), 5u);
  EXPECT_EQ(table.find(1)->bytes, address(1, 5, AddressRecord::kMaxBytes));
}

TEST(AddressTable, InsertReportsAnAddressThatDoesNotFit) {
  Fixture fixture(4);
  AddressTable table = fixture.table();
  EXPECT_FALSE(table.insert(4000, 0, address(0, 0)));
  EXPECT_FALSE(table.find(4000));
  EXPECT_FALSE(table.insert(1, 0, address(1, 0, AddressRecord::kMaxBytes + 1)));
  EXPECT_TRUE(table.insert(1, 0, address(1, 0, AddressRecord::kMaxBytes)));
  EXPECT_FALSE(table.insert(1, AddressRecord::kLastIncarnation + 1, address(1, 0)));
  EXPECT_TRUE(table.insert(1, AddressRecord::kLastIncarnation, address(1, 0)));
  EXPECT_EQ(table.incarnation_of(1), AddressRecord::kLastIncarnation);
  Fixture other(4);
  other.is_full = true;
  EXPECT_FALSE(other.table().insert(1, 0, address(1, 0)));
  EXPECT_FALSE(other.table().find(1));
}

/// A writer that is killed during its write leaves an invalid record. Readers ignore the record,
/// and the next writer can overwrite it.
TEST(AddressTable, PartlyWrittenRecordIsInvalid) {
  Fixture fixture(4);
  AddressTable table = fixture.table();
  ASSERT_TRUE(table.insert(2, 1, address(2, 1, AddressRecord::kMaxBytes)));
  for (std::size_t word = 0; word < AddressRecord::kWords; ++word) {
    auto& damaged = fixture.records[2].words[word];
    const std::uint64_t right = damaged.exchange(damaged ^ 0x10);
    EXPECT_FALSE(table.find(2)) << word;
    damaged = right;
  }
  fixture.records[2].words[3] = 99;
  EXPECT_TRUE(table.insert(2, 1, address(2, 1)));
  EXPECT_EQ(table.incarnation_of(2), 1u);
  EXPECT_FALSE(table.find(3));
  for (std::size_t word = 0; word < AddressRecord::kWords; ++word)
    fixture.records[3].words[word] = fixture.records[2].words[word].load();
  EXPECT_FALSE(table.find(3)) << "a record copied from another process is invalid";
}

/// One page of records, write-protected at first. The first write to it calls `interrupt`: at this
/// moment the writer has already read the record.
class InterruptedPage {
 public:
  explicit InterruptedPage(std::function<void()> interrupt)
      : page_(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    interrupt_ = [page = page_, then = std::move(interrupt)] {
      ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
      then();
    };
    struct sigaction action {};
    action.sa_handler = [](int) { interrupt_(); };
    ::sigaction(SIGSEGV, &action, &before_);
  }
  ~InterruptedPage() {
    ::sigaction(SIGSEGV, &before_, nullptr);
    ::munmap(page_, 4096);
  }
  std::span<AddressRecord> records() const {
    return {static_cast<AddressRecord*>(page_), AddressTable::kRecordsPerChunk};
  }

 private:
  static inline std::function<void()> interrupt_;
  void* page_;
  struct sigaction before_ {};
};

/// The slow writer reads the record and is interrupted before its write. Meanwhile another writer
/// inserts a later incarnation, which the slow writer must not replace.
TEST(AddressTable, SlowWriterNeverReplacesALaterIncarnation) {
  std::vector<std::atomic<std::uint64_t>> marks(1);
  std::function<void()> meanwhile;
  InterruptedPage page([&] { meanwhile(); });
  const auto back = [](std::byte*, std::size_t) { return base::Status(); };
  AddressTable slow(marks, page.records(), back), quick(marks, page.records(), back);
  int interruptions = 0;
  const auto later = address(3, 2);  // allocated here: a signal handler must not allocate
  meanwhile = [&] {
    ++interruptions;
    EXPECT_TRUE(quick.insert(3, 2, later));
  };
  EXPECT_TRUE(slow.insert(3, 1, address(3, 1)));
  EXPECT_EQ(interruptions, 1);
  EXPECT_EQ(quick.incarnation_of(3), 2u);
  EXPECT_EQ(quick.find(3)->bytes, later);
}

/// Each record found is complete, and its incarnation is not lower than the one found before. The
/// last incarnation remains.
TEST(AddressTable, ConcurrentReadersFindCompleteRecordsInOrder) {
  constexpr std::uint32_t kProcesses = 64, kIncarnations = 200;
  Fixture fixture(kProcesses);
  std::atomic<int> writing = 3;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 3; ++writer)
    threads.emplace_back([&] {
      AddressTable table = fixture.table();
      for (std::uint32_t incarnation = 0; incarnation < kIncarnations; ++incarnation)
        for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
          (void)table.insert(rank, incarnation, address(rank, incarnation));
      --writing;
    });
  AddressTable table = fixture.table();
  std::vector<std::uint32_t> last(kProcesses);
  while (writing > 0) {
    for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
      const auto found = table.find(rank);
      if (!found) continue;
      ASSERT_EQ(found->bytes, address(rank, found->incarnation));
      ASSERT_GE(found->incarnation, last[rank]);
      last[rank] = found->incarnation;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
    EXPECT_EQ(table.incarnation_of(rank), kIncarnations - 1);
}

}  // namespace
}  // namespace shim::node
