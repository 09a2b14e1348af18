// SPDX-License-Identifier: BSD-3-Clause
// Boards by themselves: which are free, who reads what, and when a note may be written again.
#include "shim/transport/shm/board.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "shim/transport/shm/shm.hpp"
#include "tests/transport/anonymous_area.hpp"

namespace shim::transport {
namespace {

using testing::AnonymousArea;
using testing::AnonymousGround;

class BoardTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 4;
  std::shared_ptr<AnonymousGround> ground = std::make_shared<AnonymousGround>(kSlots, shm_slot_bytes(kSlots), 64, Boards::store_bytes());
  AnonymousArea host_area{ground, 2}, other_area{ground, 0};
  Boards host{host_area}, other{other_area};
  const std::vector<std::uint32_t> members{2, 0};  // rank 0 is the host

  struct Pair {
    std::unique_ptr<Board> first, second;
  };
  Pair open(BoardPlace place) { return {host.open(place, members, 0), other.open(place, members, 1)}; }
  BoardPlace take() { return host.take(members).value(); }
  int count_of_free() {
    int count = 0;
    while (host.take(members)) ++count;
    return count;
  }
};

void put_up(Board& board, std::uint64_t value) {
  std::memcpy(board.room(sizeof value), &value, sizeof value);
  board.put_up(sizeof value, all_members(board.size()));
}

std::uint64_t value_of(const Board::Found& found) {
  std::uint64_t value = 0;
  std::memcpy(&value, found.bytes.data(), sizeof value);
  return value;
}

TEST_F(BoardTest, WhatOnePutsUpTheOtherFinds) {
  auto [first, second] = open(take());
  EXPECT_FALSE(second->find(0));
  put_up(*first, 7);
  ASSERT_TRUE(second->find(0));
  EXPECT_TRUE(second->find(0)->is_here);
  EXPECT_EQ(second->find(0)->bytes.size(), 8u);
  EXPECT_EQ(value_of(*second->find(0)), 7u);
  EXPECT_FALSE(first->find(1));
  first->end();
  second->end();
  EXPECT_FALSE(second->find(0)) << "the next meeting has begun";
  first->put_up_elsewhere();
  ASSERT_TRUE(second->find(0));
  EXPECT_FALSE(second->find(0)->is_here);
}

TEST_F(BoardTest, NotesAndSheetsOfEveryLength) {
  auto [first, second] = open(take());
  for (std::size_t bytes = 0; bytes <= kBoardBytes; ++bytes) {
    ASSERT_TRUE(first->has_room(bytes));
    const auto mark = static_cast<std::byte>(bytes);
    std::memset(first->room(bytes), static_cast<int>(mark), bytes);
    first->put_up(bytes, member(1));
    const Board::Found found = second->find(0).value();
    ASSERT_TRUE(found.is_here);
    ASSERT_EQ(found.bytes.size(), bytes);
    ASSERT_TRUE(std::ranges::all_of(found.bytes, [&](std::byte byte) { return byte == mark; })) << bytes;
    first->end();
    second->end();
  }
}

// Of either: the first runs ahead as far as there are any, half by half, and nothing is written that the second has not read.
TEST_F(BoardTest, NothingIsWrittenAgainBeforeAllHaveGoneThroughItsMeeting) {
  for (const auto& [bytes, ring] : {std::pair(std::size_t{8}, BoardPart::kNotes), std::pair(std::size_t{100}, BoardPart::kSheets)}) {
    auto [first, second] = open(take());
    std::uint64_t put = 0;
    for (std::uint64_t read = 0; read < 10 * ring; ++read) {
      EXPECT_EQ(first->has_room(bytes, 1), first->has_room(bytes));
      for (; first->has_room(bytes); ++put) {
        ASSERT_LT(put - read, ring) << "what is to be read is gone";
        std::memcpy(first->room(bytes), &put, sizeof put);
        first->put_up(bytes, all_members(2));
        first->end();
      }
      ASSERT_GE(put - read, ring / 2) << "could run further ahead";
      ASSERT_TRUE(second->find(0)) << read;
      ASSERT_EQ(value_of(*second->find(0)), read);
      second->end();
    }
  }
}

/// Puts up so much on a poster, all of it this value.
void put_up_poster(Board& board, std::size_t bytes, std::uint8_t value) {
  ASSERT_TRUE(board.has_poster());
  ASSERT_TRUE(board.has_room(bytes));
  std::memset(board.room(bytes), value, bytes);
  board.put_up(bytes, all_members(board.size()));
}

void expect_poster(const Board& board, std::size_t bytes, std::uint8_t value) {
  const auto found = board.find(0);
  ASSERT_TRUE(found && found->is_here);
  ASSERT_EQ(found->bytes.size(), bytes);
  EXPECT_TRUE(std::ranges::all_of(found->bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(value); }));
}

TEST_F(BoardTest, PostersHoldMoreAndStandBesideEachOther) {
  auto [first, second] = open(take());
  std::uint8_t value = 0;
  for (std::size_t bytes : {kBoardBytes + 1, kPosterBytes}) {
    put_up_poster(*first, bytes, ++value);
    expect_poster(*second, bytes, value);
    first->end();
    second->end();
  }
}

TEST_F(BoardTest, APosterIsKeptUntilItsReadersAreThrough) {
  auto [first, second] = open(take());
  for (std::uint8_t value = 1; value <= kPosters; ++value) {
    put_up_poster(*first, kPosterBytes, value);
    first->end();
  }
  EXPECT_FALSE(first->has_poster()) << "nobody has read the first";
  for (std::uint8_t value = 1; value <= kPosters; ++value) {
    expect_poster(*second, kPosterBytes, value);
    second->end();
  }
  put_up(*second, 7);
  EXPECT_FALSE(first->has_poster()) << "this member has not heard that the second is here";
  ASSERT_TRUE(first->find(1));
  first->note_heard(1);
  EXPECT_TRUE(first->has_poster());
}

TEST_F(BoardTest, WhoIsNotHeardSaysNowAndThenThatItIsThrough) {
  auto [first, second] = open(take());
  for (std::uint8_t value = 1; value <= kPosters; ++value) {
    put_up_poster(*first, kPosterBytes, value);
    first->end();
  }
  for (std::uint64_t meeting = 0; meeting < BoardPart::kMeetingsPerWord; ++meeting) {
    EXPECT_FALSE(first->has_poster());
    second->end();
  }
  EXPECT_TRUE(first->has_poster());
}

TEST_F(BoardTest, WithoutMemoryThereAreNoPosters) {
  auto [first, second] = open(take());
  other_area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(second->has_poster());
  second->put_up_by_messages();
  ASSERT_TRUE(first->find(1));
  EXPECT_FALSE(first->find(1)->is_here);
  EXPECT_TRUE(first->find(1)->is_by_messages);
}

TEST_F(BoardTest, IsFreeWhenAllHaveLeft) {
  const BoardPlace place = take();
  const int others = count_of_free();
  EXPECT_GT(others, 0);
  Pair pair = open(place);
  put_up(*pair.first, 7);
  pair.first.reset();
  EXPECT_EQ(count_of_free(), 0) << "the second may still read";
  EXPECT_EQ(value_of(*pair.second->find(0)), 7u);
  pair.second.reset();
  const BoardPlace again = take();
  EXPECT_EQ(again.number, place.number);
  Pair anew = open(again);
  EXPECT_FALSE(anew.second->find(0)) << "as good as new";
  EXPECT_TRUE(anew.first->has_room(8));
}

TEST_F(BoardTest, IsFreeWhenThoseWhoHaveNotLeftAreDead) {
  const BoardPlace place = take();
  count_of_free();
  Pair pair = open(place);
  pair.first.reset();
  EXPECT_EQ(count_of_free(), 0);
  ground->flags(0).dead = true;
  EXPECT_EQ(count_of_free(), 1) << "the host has left this one alone";
}

TEST_F(BoardTest, AnotherLifeOfTheHostLeavesBoardsThatAreInUse) {
  const BoardPlace place = take();
  Pair pair = open(place);
  Boards next_life(host_area);
  const auto taken = next_life.take(members);
  ASSERT_TRUE(taken);
  EXPECT_NE(taken->number, place.number);
}

TEST_F(BoardTest, ThereIsNoneWithoutMemory) {
  host_area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(host.take(members));
}

}  // namespace
}  // namespace shim::transport
