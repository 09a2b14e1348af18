// SPDX-License-Identifier: BSD-3-Clause
// Tests of KvsLog over stores with no more features than the stores of launchers.
#include "shim/bootstrap/kvs_log.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap {
namespace {

using base::Error;
using base::ErrorClass;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using testing::must;
using testing::text_of;
using ::testing::UnorderedElementsAre;

/// The store of a job. A second value under a name replaces the first one, or is rejected.
class FakeLogStore final : public KvsLogStore {
 public:
  enum class Second { replaces, is_refused };
  explicit FakeLogStore(Second second) : second_(second) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override {
    std::lock_guard lock(mutex_);
    if (puts_until_failure == 0) return Error(ErrorClass::other, "full");
    if (puts_until_failure > 0) --puts_until_failure;
    const bool is_there = values_.contains(name);
    if (is_there && name.key.starts_with("notice")) entry_was_replaced = true;
    if (is_there && second_ == Second::is_refused) return Error(ErrorClass::other, "already there");
    values_[name] = Bytes(value.begin(), value.end());
    return {};
  }
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override {
    std::lock_guard lock(mutex_);
    if (finds_until_failure == 0) return Error(ErrorClass::other, "no answer");
    if (finds_until_failure > 0) --finds_until_failure;
    questions += names.size();
    std::vector<std::optional<Bytes>> all;
    for (const Name& name : names)
      all.push_back(values_.contains(name) ? std::optional(values_.at(name)) : std::nullopt);
    return all;
  }

  std::size_t questions = 0;
  int puts_until_failure = -1, finds_until_failure = -1;
  bool entry_was_replaced = false;

 private:
  const Second second_;
  std::mutex mutex_;
  std::map<Name, Bytes> values_;
};

std::vector<std::string> read(KvsLog& log) {
  std::vector<std::string> all;
  for (const LogEntry& entry : must(log.read_log()))
    all.push_back(std::to_string(entry.writer) + "." + std::to_string(entry.index) + "=" +
                  text_of(entry.bytes));
  return all;
}

struct EachStore : ::testing::TestWithParam<FakeLogStore::Second> {
  FakeLogStore store{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(KvsLog, EachStore,
                         ::testing::Values(FakeLogStore::Second::replaces,
                                           FakeLogStore::Second::is_refused));

TEST_P(EachStore, EveryProcessReadsTheEntriesOfUnknownWriters) {
  for (std::uint32_t size : {1u, 2u, 8u, 9u, 64u, 65u, 1'000u, 1'000'000u}) {
    FakeLogStore of_job(GetParam());
    KvsLog first(of_job, 0, size), last(of_job, size - 1, size), middle(of_job, size / 2, size);
    EXPECT_TRUE(read(first).empty());
    ASSERT_TRUE(last.append_log(bytes_of("a")));
    ASSERT_TRUE(last.append_log(bytes_of("b")));
    const std::string who = std::to_string(size - 1);
    EXPECT_THAT(read(first), ElementsAre(who + ".0=a", who + ".1=b")) << size;
    EXPECT_THAT(read(last), ElementsAre(who + ".0=a", who + ".1=b")) << size;
    if (size < 3) continue;
    ASSERT_TRUE(middle.append_log(bytes_of("")));
    ASSERT_TRUE(last.append_log(bytes_of("c")));
    EXPECT_THAT(read(first), UnorderedElementsAre(who + ".0=a", who + ".1=b", who + ".2=c",
                                                  std::to_string(size / 2) + ".0="))
        << size;
    EXPECT_THAT(read(middle), UnorderedElementsAre(who + ".0=a", who + ".1=b", who + ".2=c",
                                                   std::to_string(size / 2) + ".0="))
        << size;
  }
}

TEST_P(EachStore, ReadWithoutNewEntriesNeedsFewRequests) {
  KvsLog reader(store, 0, 1'000'000), writer(store, 777'777, 1'000'000);
  EXPECT_TRUE(read(reader).empty());
  EXPECT_EQ(store.questions, 1u);
  ASSERT_TRUE(writer.append_log(bytes_of("a")));
  store.questions = 0;
  EXPECT_EQ(read(reader).size(), 1u);
  EXPECT_LE(store.questions, 7 * KvsLog::kFanOut + 2);  // 8^7 ranks
  store.questions = 0;
  EXPECT_EQ(read(reader).size(), 1u);
  EXPECT_LE(store.questions, 7 * KvsLog::kFanOut);
}

TEST_P(EachStore, EntriesReadEarlierKeepTheirPosition) {
  KvsLog reader(store, 0, 10);
  for (std::uint32_t writer : {9u, 3u, 0u, 7u}) {
    const auto before = read(reader);
    KvsLog log(store, writer, 10);
    ASSERT_TRUE(log.append_log(bytes_of("x")));
    const auto after = read(reader);
    ASSERT_EQ(after.size(), before.size() + 1);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  }
}

TEST_P(EachStore, ALaterIncarnationContinuesTheIndices) {
  KvsLog reader(store, 0, 20);
  for (const char* text : {"one", "two", "three"}) {
    KvsLog incarnation(store, 13, 20);
    ASSERT_TRUE(incarnation.append_log(bytes_of(text)));
  }
  EXPECT_THAT(read(reader), ElementsAre("13.0=one", "13.1=two", "13.2=three"));
  EXPECT_FALSE(store.entry_was_replaced);
}

TEST_P(EachStore, AnErrorLosesNoEntry) {
  KvsLog reader(store, 0, 600), writer(store, 599, 600);
  for (int round = 0; round < 6; ++round) {
    store.puts_until_failure = round % 5;
    while (!writer.append_log(bytes_of(std::to_string(round)))) store.puts_until_failure = -1;
    store.finds_until_failure = round % 4;
    while (!reader.read_log()) store.finds_until_failure = -1;
    store.puts_until_failure = store.finds_until_failure = -1;
  }
  std::vector<std::string> texts;
  for (const LogEntry& entry : must(reader.read_log())) texts.push_back(text_of(entry.bytes));
  for (int round = 0; round < 6; ++round)
    EXPECT_THAT(texts, ::testing::Contains(std::to_string(round)));
  EXPECT_FALSE(store.entry_was_replaced);
}

TEST_P(EachStore, AtLeastOneOfTwoConcurrentWritersReadsTheOther) {
  for (int round = 0; round < 300; ++round) {
    FakeLogStore of_job(GetParam());
    std::atomic<int> ready{0}, found{0};
    const auto process = [&](std::uint32_t rank) {
      KvsLog log(of_job, rank, 70);
      ++ready;
      while (ready < 2) std::this_thread::yield();
      EXPECT_TRUE(log.append_log(bytes_of("mine")));
      if (must(log.read_log()).size() == 2) ++found;
    };
    std::thread one(process, 3), other(process, 68);
    one.join();
    other.join();
    EXPECT_GE(found, 1);
  }
}

TEST(KvsLog, RefusesEntriesThatAreTooLong) {
  FakeLogStore store(FakeLogStore::Second::replaces);
  KvsLog log(store, 0, 1);
  EXPECT_TRUE(log.append_log(Bytes(kMaxLogEntryBytes)));
  EXPECT_EQ(error_of(log.append_log(Bytes(kMaxLogEntryBytes + 1))).error_class(), ErrorClass::arg);
}

/// A launcher without a store, as Slurm with PMIx.
class NoStore final : public KvsLogStore {
 public:
  base::Status put(const Name&, std::span<const std::byte>) override {
    return Error(ErrorClass::unsupported_operation, "no store");
  }
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name>) override {
    ++questions;
    return Error(ErrorClass::unsupported_operation, "no store");
  }
  int questions = 0;
};

TEST(KvsLog, WithoutAStoreAppendFailsAndReadsDoNotRetry) {
  NoStore store;
  KvsLog log(store, 0, 4);
  EXPECT_TRUE(read(log).empty());
  EXPECT_TRUE(read(log).empty());
  EXPECT_EQ(store.questions, 1);
  EXPECT_EQ(error_of(log.append_log(bytes_of("a"))).error_class(),
            ErrorClass::unsupported_operation);
}

}  // namespace
}  // namespace shim::bootstrap
