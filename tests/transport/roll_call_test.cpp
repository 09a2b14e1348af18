// SPDX-License-Identifier: BSD-3-Clause
// Roll calls by themselves: who is there, who is not, and rounds that follow each other at once.
#include "shim/transport/shm/roll_call.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/transport/anonymous_area.hpp"

namespace shim::transport {
namespace {

using testing::AnonymousArea;
using testing::AnonymousGround;
using Answer = RollCalls::Answer;

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kOffset = 4096;

/// Rank r has slot r + first.
class FromSlot final : public RollMembers {
 public:
  explicit FromSlot(std::uint32_t size, std::uint32_t first = 0) : size_(size), first_(first) {}
  std::uint32_t size() const override { return size_; }
  std::uint32_t slot_of(std::uint32_t rank) const override { return rank + first_; }

 private:
  std::uint32_t size_, first_;
};

/// What one process has of it.
struct Caller {
  Caller(const std::shared_ptr<AnonymousGround>& ground, std::uint32_t slot) : area(ground, slot), calls(area, kOffset) {}
  AnonymousArea area;
  RollCalls calls;
};

class RollCallTest : public ::testing::Test {
 protected:
  RollCallTest() {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) own.push_back(std::make_unique<Caller>(ground, slot));
  }
  RollCalls::Call call(std::uint32_t rank, const std::string& name, const RollMembers& members) const {
    return {members.slot_of(0), std::as_bytes(std::span(name)), members, rank};
  }
  RollCalls::Signed sign(std::uint32_t rank, const std::string& name, std::uint32_t value, const RollMembers& members) {
    return own[members.slot_of(rank)]->calls.sign(call(rank, name, members), {&value, 1});
  }
  RollCalls::Signed sign(std::uint32_t rank, const std::string& name, std::uint32_t value) { return sign(rank, name, value, all); }

  std::shared_ptr<AnonymousGround> ground =
      std::make_shared<AnonymousGround>(kSlots, shm_slot_bytes(kSlots), 64, kOffset + RollCalls::store_bytes(kSlots));
  std::vector<std::unique_ptr<Caller>> own;
  const FromSlot all{kSlots}, three{3};
};

TEST_F(RollCallTest, IsCompleteOnceAllHaveSignedAndTellsWhatTheyBrought) {
  std::vector<RollCalls::Signed> signatures;
  for (std::uint32_t rank : {2u, 0u, 3u}) signatures.push_back(sign(rank, "name", 10 + rank));
  for (const auto& signature : signatures) {
    ASSERT_EQ(signature.answer, Answer::signed_up);
    EXPECT_FALSE(signature.call->is_complete());
  }
  signatures.push_back(sign(1, "name", 11));
  for (const auto& signature : signatures) {
    ASSERT_TRUE(signature.call->is_complete());
    for (std::uint32_t rank = 0; rank < kSlots; ++rank) EXPECT_EQ(signature.call->brought(rank), 10 + rank);
  }
}

TEST_F(RollCallTest, WhatTheFirstBringsBesideIsThereForAll) {
  const FromSlot two(2);
  const std::vector<std::uint32_t> words{1, 20, 30, 40, 50};
  ASSERT_EQ(words.size(), 1 + kRollCallExtra);
  auto last = sign(1, "name", 7, two);
  auto first = own[0]->calls.sign(call(0, "name", two), words);
  ASSERT_TRUE(last.call->is_complete());
  EXPECT_EQ(last.call->brought(1), 7u);
  for (std::size_t extra = 0; extra < kRollCallExtra; ++extra) EXPECT_EQ(last.call->brought(2 + extra), words[1 + extra]);
}

TEST_F(RollCallTest, WhoIsFastBeginsTheNextWhileOthersStillRead) {
  const FromSlot two(2);
  std::optional<RollCall> fast = std::move(sign(1, "name", 0, two).call);
  for (std::uint32_t round = 0; round < 100; ++round) {
    const auto slow = sign(0, "name", round, two);
    ASSERT_TRUE(slow.call && fast->is_complete()) << round;
    fast.reset();
    auto next = sign(1, "name", round + 1, two);
    ASSERT_EQ(next.answer, Answer::signed_up);
    EXPECT_FALSE(next.call->is_complete());
    ASSERT_TRUE(slow.call->is_complete());
    EXPECT_EQ(slow.call->brought(1), round) << "not the next one's";
    fast.emplace(*std::move(next.call));
  }
}

TEST_F(RollCallTest, CalledOffForAllAndForThoseWhoComeWhileSomebodyIsThere) {
  auto first = sign(0, "name", 1), second = sign(1, "name", 2);
  second.call->call_off();
  EXPECT_TRUE(first.call->is_off());
  EXPECT_TRUE(second.call->is_off());
  EXPECT_EQ(sign(2, "name", 3).answer, Answer::elsewhere);
  second.call.reset();
  EXPECT_EQ(sign(2, "name", 3).answer, Answer::elsewhere);
  first.call.reset();
  auto third = sign(2, "name", 3);
  EXPECT_EQ(third.answer, Answer::signed_up);
  EXPECT_FALSE(third.call->is_off());
}

TEST_F(RollCallTest, WhoGoesBeforeTheEndCallsItOff) {
  auto first = sign(0, "name", 1);
  sign(1, "name", 2).call.reset();
  EXPECT_TRUE(first.call->is_off());
}

TEST_F(RollCallTest, WhatIsCompleteIsNotCalledOff) {
  std::vector<RollCalls::Signed> signatures;
  for (std::uint32_t rank = 0; rank < kSlots; ++rank) signatures.push_back(sign(rank, "name", rank));
  signatures.front().call->call_off();
  own[0]->calls.call_off(call(0, "name", all));
  EXPECT_TRUE(signatures.back().call->is_complete());
}

TEST_F(RollCallTest, TheHostCallsOffWhatWaitsUnderThatNameAlone) {
  auto first = sign(1, "name", 1);
  own[0]->calls.call_off(call(0, "nams", all));
  EXPECT_FALSE(first.call->is_off());
  own[0]->calls.call_off(call(0, "name", all));
  EXPECT_TRUE(first.call->is_off());
}

TEST_F(RollCallTest, NamesCountToTheLastByteAndMeetNobodyElse) {
  const FromSlot two(2);
  const std::string longest(kRollCallName, 'x');
  const auto one = sign(0, longest, 1, two);
  ASSERT_EQ(one.answer, Answer::signed_up);
  std::string other = longest;
  int in_its_place = 0;
  for (int last = 0; last < 256; ++last) {
    if (last == 'x') continue;
    other.back() = static_cast<char>(last);
    const auto signature = sign(1, other, 2, two);
    if (signature.answer == Answer::elsewhere) ++in_its_place;
    ASSERT_FALSE(one.call->is_complete()) << last;
  }
  EXPECT_GT(in_its_place, 0) << "so that names were compared";
  EXPECT_EQ(sign(0, longest + "x", 1, two).answer, Answer::elsewhere);
}

TEST_F(RollCallTest, ALongerNameIsAnother) {
  const FromSlot two(2);
  const auto zeros = sign(0, std::string(8, '\0'), 1, two);
  ASSERT_EQ(zeros.answer, Answer::signed_up);
  const auto fewer = sign(1, std::string(7, '\0'), 1, two);
  EXPECT_FALSE(zeros.call->is_complete());
}

TEST_F(RollCallTest, AMemberSignsOnce) {
  auto first = sign(0, "name", 1), second = sign(1, "name", 2);
  EXPECT_EQ(sign(1, "name", 2).answer, Answer::signed_before);
  EXPECT_FALSE(first.call->is_complete());
}

TEST_F(RollCallTest, WithoutMemoryThereIsNone) {
  own[1]->area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_EQ(sign(1, "name", 1).answer, Answer::elsewhere);
  EXPECT_EQ(sign(0, "name", 1).answer, Answer::signed_up);
}

TEST_F(RollCallTest, TheLastOneWakesWhoSleeps) {
  const FromSlot two(2, 2);
  auto sleeper = sign(0, "name", 1, two);
  WakeWords& words = reinterpret_cast<SlotMemory*>(own[2]->area.slot(2))->wake;
  const std::uint32_t ticket = announce_sleep(words);
  auto last = sign(1, "name", 2, two);
  EXPECT_NE(words.sequence.load(), ticket);
  sleeper.call.reset();
  last.call.reset();
  auto again = sign(0, "name", 1, two);
  const std::uint32_t second_ticket = announce_sleep(words);
  auto other = sign(1, "name", 2, three);  // another group, at another host
  EXPECT_EQ(words.sequence.load(), second_ticket);
  again.call->call_off();
  EXPECT_NE(words.sequence.load(), second_ticket);
}

constexpr int kSeconds = 20;  ///< nothing here takes that long unless somebody waits for what does not come

/// Rounds that some members give up, and some that one never comes to: either all see it complete, or nobody does, and those agree by
/// other means. Whoever is patient sleeps, so that rounds go on at the same pace whatever else computes beside them.
class RollCallsOf : public RollCallTest, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kSignatures = 20'000;

  WakeWords& wake_of(std::uint32_t slot) { return slot_memory(own[slot]->area, slot).wake; }
  static void wait_a_moment(const RollCall& mine, int looks) {
    for (; looks > 0 && !mine.is_complete() && !mine.is_off(); --looks) __builtin_ia32_pause();
  }
  /// Whether it was over in time: here, or because somebody has begun to do without.
  bool sleep_until_over(const RollCall& mine, std::uint32_t slot, std::uint32_t round) {
    const auto is_over = [&] { return mine.is_complete() || mine.is_off() || elsewhere[round].load() != 0; };
    return sleep_until(slot, is_over);
  }
  /// Whether all have come in time to agree by other means.
  bool meet_elsewhere(std::uint32_t slot, std::uint32_t round) {
    elsewhere[round].fetch_add(1);
    for (std::uint32_t member = 0; member < GetParam(); ++member) wake_sleepers(wake_of(member));
    return sleep_until(slot, [&] { return elsewhere[round].load() == GetParam(); });
  }

  std::vector<std::atomic<std::uint32_t>> elsewhere = std::vector<std::atomic<std::uint32_t>>(kSignatures);  ///< by round: who does without

 private:
  template <typename IsOver>
  bool sleep_until(std::uint32_t slot, const IsOver& is_over) {
    const auto until = base::Deadline::after_seconds(kSeconds);
    while (!is_over()) {
      const std::uint32_t ticket = announce_sleep(wake_of(slot));
      wake_of(slot).sequence.fetch_add(0);  // a barrier: pairs with those before announcements are looked at
      if (!is_over()) sleep_on(wake_of(slot), ticket, std::int64_t{kSeconds} * 1'000'000'000);
      if (until.passed()) return false;
    }
    return true;
  }
};

TEST_P(RollCallsOf, AllOrNobody) {
  const FromSlot members(GetParam());
  const std::uint32_t size = members.size(), kRounds = kSignatures / size;
  std::atomic<std::uint32_t> completed = 0;
  std::atomic<bool> stuck = false;
  auto live = [&](std::uint32_t rank) {
    std::minstd_rand random(rank + 1);
    for (std::uint32_t round = 0; round < kRounds && !stuck; ++round) {
      const bool is_hopeless = round % 16 == 5, stays_away = rank == 0 && is_hopeless;
      auto mine = stays_away ? RollCalls::Signed{Answer::elsewhere, std::nullopt} : sign(rank, "name", round * size + rank, members);
      if (mine.call) {
        if (is_hopeless || random() % 4 == 0) wait_a_moment(*mine.call, static_cast<int>(random() % 500));
        else if (!sleep_until_over(*mine.call, rank, round)) stuck = true;
        mine.call->call_off();
        if (mine.call->is_complete()) {
          completed.fetch_add(1);
          for (std::uint32_t member = 0; member < size; ++member) EXPECT_EQ(mine.call->brought(member), round * size + member);
          continue;
        }
        mine.call.reset();
      }
      if (!meet_elsewhere(rank, round)) stuck = true;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) threads.emplace_back(live, rank);
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(stuck) << "some saw it complete, and others not; or somebody slept whom nobody woke";
  EXPECT_GT(completed.load(), 0u);
  EXPECT_LT(completed.load(), kRounds * size);
}

INSTANTIATE_TEST_SUITE_P(Members, RollCallsOf, ::testing::Values(2, 3, 4));

}  // namespace
}  // namespace shim::transport
