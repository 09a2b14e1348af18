// SPDX-License-Identifier: BSD-3-Clause
// Belts by themselves: what is laid is taken whole and in order, nothing is laid over what somebody still needs, and who has missed
// something finds its way.
#include "shim/transport/shm/belt.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace shim::transport {
namespace {

class BeltTest : public ::testing::Test {
 protected:
  BeltWords words{};
  std::vector<std::byte> memory = std::vector<std::byte>(kBeltBytes);
  Belt belt_of(int rank) { return {words, memory.data(), rank}; }
};

/// The byte at this place of what is laid the so-manieth time.
std::byte byte_at(std::uint64_t number, std::uint64_t place) { return static_cast<std::byte>(number * 31 + place * 7 + place / kBeltPiece); }

/// All of it in one go, which needs others to take.
template <typename Await>
void lay(Belt& belt, std::uint64_t number, std::uint64_t length, const Await& await_room) {
  for (std::uint64_t at = 0; at < length;) {
    const std::size_t piece = belt.piece_of(length - at);
    await_room(piece);
    for (std::size_t i = 0; i < piece; ++i) belt.place()[i] = byte_at(number, at + i);
    belt.lay(piece);
    at += piece;
  }
  belt.end_laying();
}

/// Answers how many bytes are wrong.
template <typename Await>
std::uint64_t take(Belt& belt, std::uint64_t number, OnBelt laid, const Await& await_piece) {
  std::uint64_t wrong = 0;
  belt.begin_to_take(laid.begin);
  for (std::uint64_t at = 0; at < laid.length;) {
    const std::size_t piece = belt.piece_of(laid.length - at);
    await_piece(piece);
    for (std::size_t i = 0; i < piece; ++i) wrong += belt.place()[i] != byte_at(number, at + i);
    belt.take(piece);
    at += piece;
  }
  return wrong;
}

TEST_F(BeltTest, WhatIsLaidIsThereAndNoMore) {
  Belt first = belt_of(0), second = belt_of(1);
  const std::uint64_t begin = first.begin_to_lay();
  second.begin_to_take(begin);
  EXPECT_FALSE(second.has(1));
  EXPECT_EQ(first.piece_of(3 * kBeltPiece), kBeltPiece);
  first.lay(kBeltPiece);
  EXPECT_TRUE(second.has(kBeltPiece));
  EXPECT_FALSE(second.has(kBeltPiece + 1));
  second.take(kBeltPiece);
  EXPECT_FALSE(second.has(1));
}

TEST_F(BeltTest, ThereIsRoomUntilTheSlowestNeedsIt) {
  Belt first = belt_of(0), second = belt_of(1);
  const std::uint64_t begin = first.begin_to_lay();
  second.begin_to_take(begin);
  for (std::size_t laid = 0; laid < kBeltBytes; laid += kBeltPiece) {
    ASSERT_TRUE(first.has_room(kBeltPiece, 1)) << laid;
    first.lay(kBeltPiece);
  }
  EXPECT_FALSE(first.has_room(1, 1));
  second.take(kBeltPiece);
  EXPECT_TRUE(first.has_room(kBeltPiece, 1));
  EXPECT_FALSE(first.has_room(kBeltPiece + 1, 1));
  EXPECT_FALSE(first.has_room(kBeltPiece, 2)) << "who has taken nothing";
}

TEST_F(BeltTest, PiecesEndWhereTheMemoryDoes) {
  Belt first = belt_of(0), second = belt_of(1);
  const auto nothing = [](std::size_t) {};
  for (std::uint64_t number = 0; number < 100; ++number) {
    const OnBelt laid{first.begin_to_lay(), 3 * kBeltPiece + 5 * number};
    ASSERT_EQ(laid.begin % kLine, 0u);
    lay(first, number, laid.length, [&](std::size_t piece) { ASSERT_LE(first.place() + piece, memory.data() + kBeltBytes); });
    ASSERT_EQ(take(second, number, laid, nothing), 0u);
  }
}

TEST_F(BeltTest, WhoMissedSomethingGoesOnWithTheNext) {
  Belt first = belt_of(0), second = belt_of(1), third = belt_of(2);
  const auto nothing = [](std::size_t) {};
  OnBelt laid{first.begin_to_lay(), kBeltBytes};
  lay(first, 1, laid.length, nothing);
  EXPECT_EQ(take(second, 1, laid, nothing), 0u);  // and not the third
  laid.begin = second.begin_to_lay();
  EXPECT_FALSE(second.has_room(1, 2));
  third.begin_to_take(laid.begin);
  first.begin_to_take(laid.begin);
  EXPECT_TRUE(second.has_room(kBeltPiece, 2));
  lay(second, 2, laid.length, nothing);
  EXPECT_EQ(take(third, 2, laid, nothing), 0u);
  EXPECT_EQ(take(first, 2, laid, nothing), 0u);
}

// Each lays in turn; who is told where by a word of the test's own, as notes do.
TEST_F(BeltTest, ManyTakeWhatOneAfterTheOtherLays) {
  constexpr int kMembers = 3;
  constexpr std::uint64_t kRounds = 60;
  struct Note {
    std::atomic<bool> is_there{false};
    OnBelt laid{};
  };
  std::vector<Note> notes(kRounds);
  std::atomic<std::uint64_t> wrong{0};
  const auto member = [&](int rank) {
    Belt belt = belt_of(rank);
    const auto until = [](const auto& ready) {
      while (!ready()) std::this_thread::yield();
    };
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Note& note = notes[round];
      if (static_cast<int>(round / 2) % kMembers == rank) {
        note.laid = {belt.begin_to_lay(), round % 5 * kBeltBytes / 2 + round};
        note.is_there.store(true, std::memory_order_release);  // pairs with the acquire below
        lay(belt, round, note.laid.length, [&](std::size_t piece) {
          for (int other = 0; other < kMembers; ++other)
            if (other != rank) until([&] { return belt.has_room(piece, other); });
        });
      } else {
        until([&] { return note.is_there.load(std::memory_order_acquire); });
        wrong += take(belt, round, note.laid, [&](std::size_t piece) { until([&] { return belt.has(piece); }); });
      }
    }
  };
  std::vector<std::thread> members;
  for (int rank = 0; rank < kMembers; ++rank) members.emplace_back(member, rank);
  for (std::thread& each : members) each.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace shim::transport
