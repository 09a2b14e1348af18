// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/copy_board.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace shim::transport {
namespace {

constexpr base::Nanoseconds kSecond = 1'000'000'000;

TEST(CopyBoard, GivesEachPartOnce) {
  CopyBoard board;
  const auto turn = board.open(37, kSecond);
  std::vector<int> taken(37);
  for (auto parts = board.take(turn); parts.count != 0; parts = board.take(turn))
    for (auto part = parts.first; part < parts.first + parts.count; ++part) ++taken.at(part);
  EXPECT_EQ(taken, std::vector(37, 1));
}

TEST(CopyBoard, GivesFewerPartsTheFewerAreLeft) {
  CopyBoard board;
  const auto turn = board.open(1000, kSecond);
  EXPECT_EQ(board.take(turn).count, 16u);
  board.close(turn);
  const auto next = board.open(8, kSecond);
  EXPECT_EQ(board.take(next).count, 2u);
  EXPECT_EQ(board.take(next).count, 1u);
}

TEST(CopyBoard, GivesNothingOfAnotherTurn) {
  CopyBoard board;
  EXPECT_EQ(board.take(0).count, 0u) << "nobody has opened it";
  const auto first = board.open(4, kSecond);
  const auto second = board.open(4, kSecond);
  EXPECT_EQ(board.take(first).count, 0u);
  EXPECT_EQ(board.take(second).count, 1u);
}

TEST(CopyBoard, ClosesForBoth) {
  CopyBoard board;
  const auto turn = board.open(4, kSecond);
  board.take(turn);
  EXPECT_EQ(board.close(turn), 3u);
  EXPECT_EQ(board.take(turn).count, 0u);
}

TEST(CopyBoard, IsSettledWhenTheSenderHasEndedWhatItTook) {
  CopyBoard board;
  const auto turn = board.open(4, kSecond);
  EXPECT_TRUE(board.is_settled(0));
  EXPECT_FALSE(board.is_settled(3));
  board.tell_written(turn, 2);
  EXPECT_FALSE(board.is_settled(3));
  EXPECT_FALSE(board.was_refused());
  board.tell_refused(turn, 1);
  EXPECT_TRUE(board.is_settled(3));
  EXPECT_TRUE(board.was_refused());
  const auto next = board.open(4, kSecond);
  board.tell_written(turn, 1);
  EXPECT_TRUE(board.is_settled(0)) << "what a sender of before says does not count";
  board.tell_written(next, 1);
  EXPECT_TRUE(board.is_settled(1));
}

TEST(CopyBoard, IsWatchedForAMomentAfterEachBeat) {
  CopyBoard board;
  board.open(4, kSecond);
  EXPECT_TRUE(board.is_watched(kSecond + 1));
  EXPECT_FALSE(board.is_watched(kSecond + kSecond / 10));
  board.beat(kSecond + kSecond / 10);
  EXPECT_TRUE(board.is_watched(kSecond + kSecond / 10));
  EXPECT_FALSE(board.is_watched(0)) << "clocks that differ by so much are not one";
}

/// The bytes are plain: lost or doubled where a part is both's, and a data race for a sanitizer.
TEST(CopyBoard, TwoThreadsCopyEachPartOnceAndTheReceiverSeesAll) {
  constexpr std::uint32_t kParts = 200;
  CopyBoard board;
  std::vector<int> copies(kParts);
  for (int message = 1; message <= 50; ++message) {
    const auto turn = board.open(kParts, base::now_ns());
    std::latch start(2);
    std::thread sender([&] {
      start.arrive_and_wait();
      for (auto parts = board.take(turn); parts.count != 0; parts = board.take(turn)) {
        for (std::uint32_t i = 0; i < parts.count; ++i) ++copies[parts.first + i];
        board.tell_written(turn, parts.count);
      }
    });
    std::uint32_t theirs = kParts;
    start.arrive_and_wait();
    for (auto parts = board.take(turn); parts.count != 0; parts = board.take(turn)) {
      for (std::uint32_t i = 0; i < parts.count; ++i) ++copies[parts.first + i];
      theirs -= parts.count;
    }
    while (!board.is_settled(theirs)) std::this_thread::yield();
    ASSERT_EQ(copies, std::vector(kParts, message));
    sender.join();
  }
}

}  // namespace
}  // namespace shim::transport
