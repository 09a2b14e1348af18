// SPDX-License-Identifier: BSD-3-Clause
// Notices over stores that do as little as launchers' stores do.
#include "shim/bootstrap/notice_board.hpp"

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
using testing::error_of;
using testing::must;
using testing::text_of;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// The store of a job: a second value under a name replaces the first, or is refused.
class NamesAndValues final : public NoticeStore {
 public:
  enum class Second { replaces, is_refused };
  explicit NamesAndValues(Second second) : second_(second) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override {
    std::lock_guard lock(mutex_);
    if (puts_until_failure == 0) return Error(ErrorClass::other, "full");
    if (puts_until_failure > 0) --puts_until_failure;
    const bool is_there = values_.contains(name);
    if (is_there && name.key.starts_with("notice")) notice_was_replaced = true;
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
    for (const Name& name : names) all.push_back(values_.contains(name) ? std::optional(values_.at(name)) : std::nullopt);
    return all;
  }

  std::size_t questions = 0;
  int puts_until_failure = -1, finds_until_failure = -1;
  bool notice_was_replaced = false;

 private:
  const Second second_;
  std::mutex mutex_;
  std::map<Name, Bytes> values_;
};

std::vector<std::string> read(NoticeBoard& board) {
  std::vector<std::string> all;
  for (const Notice& notice : must(board.notices()))
    all.push_back(std::to_string(notice.poster) + "." + std::to_string(notice.number) + "=" + text_of(notice.bytes));
  return all;
}

struct EachStore : ::testing::TestWithParam<NamesAndValues::Second> {
  NamesAndValues store{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(NoticeBoard, EachStore, ::testing::Values(NamesAndValues::Second::replaces, NamesAndValues::Second::is_refused));

TEST_P(EachStore, WhatAnybodyPostsIsFoundByEverybodyWithoutKnowingWho) {
  for (std::uint32_t size : {1u, 2u, 8u, 9u, 64u, 65u, 1'000u, 1'000'000u}) {
    NamesAndValues of_job(GetParam());
    NoticeBoard first(of_job, 0, size), last(of_job, size - 1, size), middle(of_job, size / 2, size);
    EXPECT_TRUE(read(first).empty());
    ASSERT_TRUE(last.post(bytes_of("a")));
    ASSERT_TRUE(last.post(bytes_of("b")));
    const std::string who = std::to_string(size - 1);
    EXPECT_THAT(read(first), ElementsAre(who + ".0=a", who + ".1=b")) << size;
    EXPECT_THAT(read(last), ElementsAre(who + ".0=a", who + ".1=b")) << size;
    if (size < 3) continue;
    ASSERT_TRUE(middle.post(bytes_of("")));
    ASSERT_TRUE(last.post(bytes_of("c")));
    EXPECT_THAT(read(first), UnorderedElementsAre(who + ".0=a", who + ".1=b", who + ".2=c", std::to_string(size / 2) + ".0=")) << size;
    EXPECT_THAT(read(middle), UnorderedElementsAre(who + ".0=a", who + ".1=b", who + ".2=c", std::to_string(size / 2) + ".0=")) << size;
  }
}

TEST_P(EachStore, AQuestionWithoutNewsCostsLittle) {
  NoticeBoard reader(store, 0, 1'000'000), poster(store, 777'777, 1'000'000);
  EXPECT_TRUE(read(reader).empty());
  EXPECT_EQ(store.questions, 1u);
  ASSERT_TRUE(poster.post(bytes_of("a")));
  store.questions = 0;
  EXPECT_EQ(read(reader).size(), 1u);
  EXPECT_LE(store.questions, 7 * NoticeBoard::kFanOut + 2);  // 8^7 ranks
  store.questions = 0;
  EXPECT_EQ(read(reader).size(), 1u);
  EXPECT_LE(store.questions, 7 * NoticeBoard::kFanOut);
}

TEST_P(EachStore, WhatWasReadBeforeStaysInItsPlace) {
  NoticeBoard reader(store, 0, 10);
  for (std::uint32_t poster : {9u, 3u, 0u, 7u}) {
    const auto before = read(reader);
    NoticeBoard board(store, poster, 10);
    ASSERT_TRUE(board.post(bytes_of("x")));
    const auto after = read(reader);
    ASSERT_EQ(after.size(), before.size() + 1);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  }
}

TEST_P(EachStore, ALaterLifeOfAProcessGoesOnCounting) {
  NoticeBoard reader(store, 0, 20);
  for (const char* text : {"one", "two", "three"}) {
    NoticeBoard life(store, 13, 20);
    ASSERT_TRUE(life.post(bytes_of(text)));
  }
  EXPECT_THAT(read(reader), ElementsAre("13.0=one", "13.1=two", "13.2=three"));
  EXPECT_FALSE(store.notice_was_replaced);
}

TEST_P(EachStore, AnErrorLosesNothing) {
  NoticeBoard reader(store, 0, 600), poster(store, 599, 600);
  for (int round = 0; round < 6; ++round) {
    store.puts_until_failure = round % 5;
    while (!poster.post(bytes_of(std::to_string(round)))) store.puts_until_failure = -1;
    store.finds_until_failure = round % 4;
    while (!reader.notices()) store.finds_until_failure = -1;
    store.puts_until_failure = store.finds_until_failure = -1;
  }
  std::vector<std::string> texts;
  for (const Notice& notice : must(reader.notices())) texts.push_back(text_of(notice.bytes));
  for (int round = 0; round < 6; ++round) EXPECT_THAT(texts, ::testing::Contains(std::to_string(round)));
  EXPECT_FALSE(store.notice_was_replaced);
}

TEST_P(EachStore, OfTwoWhoPostAndThenReadAtLeastOneFindsTheOthers) {
  for (int round = 0; round < 300; ++round) {
    NamesAndValues of_job(GetParam());
    std::atomic<int> ready{0}, found{0};
    const auto process = [&](std::uint32_t rank) {
      NoticeBoard board(of_job, rank, 70);
      ++ready;
      while (ready < 2) std::this_thread::yield();
      EXPECT_TRUE(board.post(bytes_of("mine")));
      if (must(board.notices()).size() == 2) ++found;
    };
    std::thread one(process, 3), other(process, 68);
    one.join();
    other.join();
    EXPECT_GE(found, 1);
  }
}

TEST(NoticeBoard, RefusesWhatIsTooLong) {
  NamesAndValues store(NamesAndValues::Second::replaces);
  NoticeBoard board(store, 0, 1);
  EXPECT_TRUE(board.post(Bytes(kLongestNotice)));
  EXPECT_EQ(error_of(board.post(Bytes(kLongestNotice + 1))).error_class(), ErrorClass::arg);
}

/// As Slurm's PMIx.
class NoStore final : public NoticeStore {
 public:
  base::Status put(const Name&, std::span<const std::byte>) override { return Error(ErrorClass::unsupported_operation, "no store"); }
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name>) override {
    ++questions;
    return Error(ErrorClass::unsupported_operation, "no store");
  }
  int questions = 0;
};

TEST(NoticeBoard, WithoutAStoreNobodyPostsAndNobodyIsAskedTwice) {
  NoStore store;
  NoticeBoard board(store, 0, 4);
  EXPECT_TRUE(read(board).empty());
  EXPECT_TRUE(read(board).empty());
  EXPECT_EQ(store.questions, 1);
  EXPECT_EQ(error_of(board.post(bytes_of("a"))).error_class(), ErrorClass::unsupported_operation);
}

}  // namespace
}  // namespace shim::bootstrap
