// SPDX-License-Identifier: BSD-3-Clause
// Tests the shared-memory rendezvous without a creation: arrivals, missing members, and rounds in
// direct succession.
#include "shim/node/shm_rendezvous.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/spin_pause.hpp"
#include "tests/node/anonymous_area.hpp"

namespace shim::node {
namespace {

using testing::AnonymousArea;
using testing::AnonymousSegment;
using ArriveStatus = ShmRendezvousTable::ArriveStatus;

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kOffset = 4096;

/// Rank r has slot r + first.
class MembersFromSlot final : public RendezvousMembers {
 public:
  explicit MembersFromSlot(std::uint32_t size, std::uint32_t first = 0)
      : size_(size), first_(first) {}
  std::uint32_t size() const override { return size_; }
  std::uint32_t slot_of(std::uint32_t rank) const override { return rank + first_; }

 private:
  std::uint32_t size_, first_;
};

/// The view of one process.
struct Caller {
  Caller(const std::shared_ptr<AnonymousSegment>& segment, std::uint32_t slot)
      : area(segment, slot), calls(area, kOffset) {}
  AnonymousArea area;
  ShmRendezvousTable calls;
};

class ShmRendezvousTest : public ::testing::Test {
 protected:
  ShmRendezvousTest() {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot)
      own.push_back(std::make_unique<Caller>(segment, slot));
  }
  ShmRendezvousTable::Participant call(std::uint32_t rank, const std::string& name,
                                       const RendezvousMembers& members) const {
    return {members.slot_of(0), std::as_bytes(std::span(name)), members, rank};
  }
  ShmRendezvousTable::ArriveResult arrive(std::uint32_t rank, const std::string& name,
                                          std::uint32_t value, const RendezvousMembers& members) {
    return own[members.slot_of(rank)]->calls.arrive(call(rank, name, members), {&value, 1});
  }
  ShmRendezvousTable::ArriveResult arrive(std::uint32_t rank, const std::string& name,
                                          std::uint32_t value) {
    return arrive(rank, name, value, all);
  }

  std::shared_ptr<AnonymousSegment> segment = std::make_shared<AnonymousSegment>(
      kSlots, SlotMemory::bytes(kSlots), 64, kOffset + ShmRendezvousTable::store_bytes(kSlots));
  std::vector<std::unique_ptr<Caller>> own;
  const MembersFromSlot all{kSlots}, three{3};
};

TEST_F(ShmRendezvousTest, CompletesOnceAllArrivedWithTheirPayload) {
  std::vector<ShmRendezvousTable::ArriveResult> arrivals;
  for (std::uint32_t rank : {2u, 0u, 3u}) arrivals.push_back(arrive(rank, "name", 10 + rank));
  for (const auto& arrival : arrivals) {
    ASSERT_EQ(arrival.status, ArriveStatus::arrived);
    EXPECT_FALSE(arrival.rendezvous->is_complete());
  }
  arrivals.push_back(arrive(1, "name", 11));
  for (const auto& arrival : arrivals) {
    ASSERT_TRUE(arrival.rendezvous->is_complete());
    for (std::uint32_t rank = 0; rank < kSlots; ++rank)
      EXPECT_EQ(arrival.rendezvous->payload_at(rank), 10 + rank);
  }
}

TEST_F(ShmRendezvousTest, ExtraWordsOfRank0AreReadByAll) {
  const MembersFromSlot two(2);
  const std::vector<std::uint32_t> words{1, 20, 30, 40, 50};
  ASSERT_EQ(words.size(), 1 + kRendezvousExtraWords);
  auto last = arrive(1, "name", 7, two);
  auto first = own[0]->calls.arrive(call(0, "name", two), words);
  ASSERT_TRUE(last.rendezvous->is_complete());
  EXPECT_EQ(last.rendezvous->payload_at(1), 7u);
  for (std::size_t extra = 0; extra < kRendezvousExtraWords; ++extra)
    EXPECT_EQ(last.rendezvous->payload_at(2 + extra), words[1 + extra]);
}

TEST_F(ShmRendezvousTest, NextRoundStartsWhileOthersStillReadThePrevious) {
  const MembersFromSlot two(2);
  std::optional<ShmRendezvous> fast = std::move(arrive(1, "name", 0, two).rendezvous);
  for (std::uint32_t round = 0; round < 100; ++round) {
    const auto slow = arrive(0, "name", round, two);
    ASSERT_TRUE(slow.rendezvous && fast->is_complete()) << round;
    fast.reset();
    auto next = arrive(1, "name", round + 1, two);
    ASSERT_EQ(next.status, ArriveStatus::arrived);
    EXPECT_FALSE(next.rendezvous->is_complete());
    ASSERT_TRUE(slow.rendezvous->is_complete());
    EXPECT_EQ(slow.rendezvous->payload_at(1), round) << "not the payload of the next round";
    fast.emplace(*std::move(next.rendezvous));
  }
}

TEST_F(ShmRendezvousTest, AbortAffectsAllMembersUntilTheLastLeaves) {
  auto first = arrive(0, "name", 1), second = arrive(1, "name", 2);
  second.rendezvous->abort();
  EXPECT_TRUE(first.rendezvous->is_aborted());
  EXPECT_TRUE(second.rendezvous->is_aborted());
  EXPECT_EQ(arrive(2, "name", 3).status, ArriveStatus::unavailable);
  second.rendezvous.reset();
  EXPECT_EQ(arrive(2, "name", 3).status, ArriveStatus::unavailable);
  first.rendezvous.reset();
  auto third = arrive(2, "name", 3);
  EXPECT_EQ(third.status, ArriveStatus::arrived);
  EXPECT_FALSE(third.rendezvous->is_aborted());
}

TEST_F(ShmRendezvousTest, LeavingEarlyAborts) {
  auto first = arrive(0, "name", 1);
  arrive(1, "name", 2).rendezvous.reset();
  EXPECT_TRUE(first.rendezvous->is_aborted());
}

TEST_F(ShmRendezvousTest, CompleteRoundIsNotAborted) {
  std::vector<ShmRendezvousTable::ArriveResult> arrivals;
  for (std::uint32_t rank = 0; rank < kSlots; ++rank)
    arrivals.push_back(arrive(rank, "name", rank));
  arrivals.front().rendezvous->abort();
  own[0]->calls.abort(call(0, "name", all));
  EXPECT_TRUE(arrivals.back().rendezvous->is_complete());
}

TEST_F(ShmRendezvousTest, HostAbortsOnlyTheNamedRendezvous) {
  auto first = arrive(1, "name", 1);
  own[0]->calls.abort(call(0, "nams", all));
  EXPECT_FALSE(first.rendezvous->is_aborted());
  own[0]->calls.abort(call(0, "name", all));
  EXPECT_TRUE(first.rendezvous->is_aborted());
}

TEST_F(ShmRendezvousTest, NamesAreComparedToTheLastByte) {
  const MembersFromSlot two(2);
  const std::string longest(kMaxRendezvousName, 'x');
  const auto one = arrive(0, longest, 1, two);
  ASSERT_EQ(one.status, ArriveStatus::arrived);
  std::string other = longest;
  int in_its_place = 0;
  for (int last = 0; last < 256; ++last) {
    if (last == 'x') continue;
    other.back() = static_cast<char>(last);
    const auto arrival = arrive(1, other, 2, two);
    if (arrival.status == ArriveStatus::unavailable) ++in_its_place;
    ASSERT_FALSE(one.rendezvous->is_complete()) << last;
  }
  EXPECT_GT(in_its_place, 0)
      << "at least two names must use one entry, so that names were compared";
  EXPECT_EQ(arrive(0, longest + "x", 1, two).status, ArriveStatus::unavailable);
}

TEST_F(ShmRendezvousTest, NameLengthIsCompared) {
  const MembersFromSlot two(2);
  const auto zeros = arrive(0, std::string(8, '\0'), 1, two);
  ASSERT_EQ(zeros.status, ArriveStatus::arrived);
  const auto fewer = arrive(1, std::string(7, '\0'), 1, two);
  EXPECT_FALSE(zeros.rendezvous->is_complete());
}

TEST_F(ShmRendezvousTest, MemberArrivesOnce) {
  auto first = arrive(0, "name", 1), second = arrive(1, "name", 2);
  EXPECT_EQ(arrive(1, "name", 2).status, ArriveStatus::arrived_before);
  EXPECT_FALSE(first.rendezvous->is_complete());
}

TEST_F(ShmRendezvousTest, IsUnavailableWithoutMemory) {
  own[1]->area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_EQ(arrive(1, "name", 1).status, ArriveStatus::unavailable);
  EXPECT_EQ(arrive(0, "name", 1).status, ArriveStatus::arrived);
}

TEST_F(ShmRendezvousTest, LastArrivalWakesSleepers) {
  const MembersFromSlot two(2, 2);
  auto sleeper = arrive(0, "name", 1, two);
  WakeWords& words = reinterpret_cast<SlotMemory*>(own[2]->area.slot(2))->wake;
  const std::uint32_t ticket = announce_sleep(words);
  auto last = arrive(1, "name", 2, two);
  EXPECT_NE(words.sequence.load(), ticket);
  sleeper.rendezvous.reset();
  last.rendezvous.reset();
  auto again = arrive(0, "name", 1, two);
  const std::uint32_t second_ticket = announce_sleep(words);
  auto other = arrive(1, "name", 2, three);  // another group, in the segment of another process
  EXPECT_EQ(words.sequence.load(), second_ticket);
  again.rendezvous->abort();
  EXPECT_NE(words.sequence.load(), second_ticket);
}

/// Time limit in seconds. No step takes that long unless a member waits for a missing one.
constexpr int kSeconds = 20;

/// Runs rounds that some members abort, and rounds that one member never enters. In each round
/// either all members see the rendezvous complete, or none does; then they agree by other means.
/// Members that wait for the end sleep, so that other load on the machine does not slow the rounds.
class ShmRendezvousOfMany : public ShmRendezvousTest,
                            public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kArrivals = 20'000;

  WakeWords& wake_of(std::uint32_t slot) { return slot_memory(own[slot]->area, slot).wake; }
  static void wait_a_moment(const ShmRendezvous& mine, int looks) {
    for (; looks > 0 && !mine.is_complete() && !mine.is_aborted(); --looks) base::spin_pause();
  }
  /// Sleep until the round has ended, or a member agrees by other means; false after the time
  /// limit.
  bool sleep_until_over(const ShmRendezvous& mine, std::uint32_t slot, std::uint32_t round) {
    const auto is_over = [&] {
      return mine.is_complete() || mine.is_aborted() || elsewhere[round].load() != 0;
    };
    return sleep_until(slot, is_over);
  }
  /// Agree by other means; return false if not all members do so within the time limit.
  bool agree_without_rendezvous(std::uint32_t slot, std::uint32_t round) {
    elsewhere[round].fetch_add(1);
    for (std::uint32_t member = 0; member < GetParam(); ++member) wake_sleepers(wake_of(member));
    return sleep_until(slot, [&] { return elsewhere[round].load() == GetParam(); });
  }

  /// By round: the number of members that agree by other means.
  std::vector<std::atomic<std::uint32_t>> elsewhere = std::vector<std::atomic<std::uint32_t>>(
      kArrivals);

 private:
  template <typename IsOver>
  bool sleep_until(std::uint32_t slot, const IsOver& is_over) {
    const auto until = base::Deadline::after_seconds(kSeconds);
    while (!is_over()) {
      const std::uint32_t ticket = announce_sleep(wake_of(slot));
      // a full barrier: pairs with the barriers before loads of announcements
      wake_of(slot).sequence.fetch_add(0);
      if (!is_over()) sleep_on(wake_of(slot), ticket, std::int64_t{kSeconds} * 1'000'000'000);
      if (until.passed()) return false;
    }
    return true;
  }
};

TEST_P(ShmRendezvousOfMany, AllCompleteOrNone) {
  const MembersFromSlot members(GetParam());
  const std::uint32_t size = members.size(), kRounds = kArrivals / size;
  std::atomic<std::uint32_t> completed = 0;
  std::atomic<bool> stuck = false;
  auto run_member = [&](std::uint32_t rank) {
    std::minstd_rand random(rank + 1);
    for (std::uint32_t round = 0; round < kRounds && !stuck; ++round) {
      const bool is_unsatisfiable = round % 16 == 5, is_missing = rank == 0 && is_unsatisfiable;
      auto mine = is_missing
                      ? ShmRendezvousTable::ArriveResult{ArriveStatus::unavailable, std::nullopt}
                      : arrive(rank, "name", round * size + rank, members);
      if (mine.rendezvous) {
        if (is_unsatisfiable || random() % 4 == 0)
          wait_a_moment(*mine.rendezvous, static_cast<int>(random() % 500));
        else if (!sleep_until_over(*mine.rendezvous, rank, round))
          stuck = true;
        mine.rendezvous->abort();
        if (mine.rendezvous->is_complete()) {
          completed.fetch_add(1);
          for (std::uint32_t member = 0; member < size; ++member)
            EXPECT_EQ(mine.rendezvous->payload_at(member), round * size + member);
          continue;
        }
        mine.rendezvous.reset();
      }
      if (!agree_without_rendezvous(rank, round)) stuck = true;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) threads.emplace_back(run_member, rank);
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(stuck) << "only some members saw the round complete, or a sleeper was not woken";
  EXPECT_GT(completed.load(), 0u);
  EXPECT_LT(completed.load(), kRounds * size);
}

INSTANTIATE_TEST_SUITE_P(Members, ShmRendezvousOfMany, ::testing::Values(2, 3, 4));

}  // namespace
}  // namespace shim::node
