// SPDX-License-Identifier: BSD-3-Clause
// Blocking receives that find their message at the first look: nothing is posted, and what else has come stays where it is.
#include <thread>
#include <utility>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class ShortWay : public testing::Test, protected TwoEngines {
 protected:
  void send(int number, int tag, Plane plane = Plane::user) {
    Data data = numbered(number);
    ASSERT_TRUE(sender.send(*contexts[0], from(data), 1, tag, Mode::standard, plane));
  }
  Outcome receive(int expected, int source, int tag, Plane plane = Plane::user) {
    Data data(kBytes);
    Outcome outcome = value_of(receiver.recv(*contexts[1], into(data), source, tag, plane));
    EXPECT_EQ(data, numbered(expected));
    return outcome;
  }
  static Data numbered(int number) { return pattern(kBytes, static_cast<std::uint8_t>(number)); }
  static constexpr std::size_t kBytes = 24;
};

TEST_F(ShortWay, TakesItsMessageAndLeavesTheNextOnes) {
  for (int i = 0; i < 10; ++i) send(i, 3);
  for (int i = 0; i < 10; ++i) {
    Outcome outcome = receive(i, 0, 3);
    EXPECT_EQ(outcome.source, 0);
    EXPECT_EQ(outcome.tag, 3);
    EXPECT_EQ(outcome.bytes, kBytes);
  }
  EXPECT_EQ(receiver.counts().unexpected, 0u);
  EXPECT_EQ(receiver.counts().posted_matches, 10u);
}

TEST_F(ShortWay, FromAnybodyWithAnyTag) {
  send(1, 5);
  send(2, 6);
  EXPECT_EQ(receive(1, kAnySource, kAnyTag).tag, 5);
  EXPECT_EQ(receive(2, 0, kAnyTag).tag, 6);
  EXPECT_EQ(receiver.counts().unexpected, 0u);
}

TEST_F(ShortWay, OtherTagsPlanesAndCommunicatorsPassItBy) {
  send(1, 8);
  send(2, 7, Plane::collective);
  send(3, 7);
  receive(3, 0, 7);
  EXPECT_EQ(receiver.counts().unexpected, 2u);
  receive(1, 0, 8);
  receive(2, 0, 7, Plane::collective);
}

TEST_F(ShortWay, NotPastAMessageThatCameBefore) {
  send(1, 7);
  ASSERT_TRUE(receiver.progress());
  send(2, 7);
  receive(1, 0, 7);
  receive(2, 0, 7);
}

TEST_F(ShortWay, NotPastAMessageThatWantsAnAnswer) {
  const std::size_t kLong = 100'000;
  for (auto [bytes, mode] : {std::pair(kLong, Mode::standard), std::pair(kBytes, Mode::synchronous)}) {
    Data first = pattern(bytes, 9);
    Request* sent = value_of(sender.isend(*contexts[0], from(first), 1, 7, mode));
    send(2, 8);
    std::jthread other([&] { EXPECT_TRUE(sender.wait(*sent)); });
    for (auto [tag, length] : {std::pair(7, bytes), std::pair(8, kBytes)}) {
      Data room(kLong);
      Outcome outcome = value_of(receiver.recv(*contexts[1], into(room), 0, kAnyTag));
      EXPECT_EQ(outcome.tag, tag);
      EXPECT_EQ(outcome.bytes, length);
    }
    other.join();
    sender.release(sent);
  }
}

TEST_F(ShortWay, NotPastAReceiveThatWasPostedBefore) {
  Data first(kBytes);
  Request* posted = value_of(receiver.irecv(*contexts[1], into(first), kAnySource, kAnyTag));
  send(1, 7);
  send(2, 7);
  receive(2, 0, 7);
  EXPECT_TRUE(posted->is_done());
  EXPECT_EQ(first, numbered(1));
  receiver.release(posted);
}

TEST_F(ShortWay, OfSendsThatMayBeCancelled) {
  Data data = numbered(4);
  Request* request = value_of(sender.isend(*contexts[0], from(data), 1, 7, Mode::standard));
  receive(4, 0, 7);
  EXPECT_TRUE(request->is_done());
  sender.release(request);
  EXPECT_EQ(receiver.counts().unexpected, 0u);
}

TEST_F(ShortWay, AShorterMessage) {
  send(1, 7);
  Data room(2 * kBytes);
  EXPECT_EQ(value_of(receiver.recv(*contexts[1], into(room), 0, 7)).bytes, kBytes);
  room.resize(kBytes);
  EXPECT_EQ(room, numbered(1));
}

TEST_F(ShortWay, TooLongAMessageFillsTheBufferAndIsReported) {
  send(1, 7);
  Data room(kBytes);
  auto received = receiver.recv(*contexts[1], {room.data(), kBytes / 2, &kByte}, 0, 7);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().error_class(), ErrorClass::truncate);
  Data expected = numbered(1);
  std::fill(expected.begin() + kBytes / 2, expected.end(), std::uint8_t{0});
  EXPECT_EQ(room, expected);
}

TEST_F(ShortWay, AMessageThatEndsInsideAnElement) {
  Data odd = pattern(12, 1);
  ASSERT_TRUE(sender.send(*contexts[0], from(odd), 1, 7, Mode::standard));
  std::array<double, 3> room{};
  auto received = receiver.recv(*contexts[1], {room.data(), room.size(), types::find_predefined("MPI_DOUBLE")}, 0, 7);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().error_class(), ErrorClass::type);
}

// Work that is registered has its turn, however many messages are there already.
TEST_F(ShortWay, RegisteredWorkIsNotForgotten) {
  int turns = 0;
  const int number = receiver.add_progress([&turns] { ++turns; });
  for (int i = 0; i < 100; ++i) {
    send(i, 3);
    receive(i, 0, 3);
  }
  EXPECT_GE(turns, 5);
  receiver.remove_progress(number);
}

}  // namespace
}  // namespace shim::p2p
