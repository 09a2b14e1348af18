// SPDX-License-Identifier: BSD-3-Clause
// Tests blocking receives on the fast path, which find their message at the first poll: the receive
// is not posted, and other messages stay in the transport.
#include <thread>
#include <utility>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class FastPath : public testing::Test, protected TwoEngines {
 protected:
  void send(int number, int tag, Plane plane = Plane::user) {
    Data data = numbered(number);
    ASSERT_TRUE(sender.send(*contexts[0], from(data), 1, tag, SendMode::standard, plane));
  }
  MessageStatus receive(int expected, int source, int tag, Plane plane = Plane::user) {
    Data data(kBytes);
    MessageStatus outcome = value_of(receiver.recv(*contexts[1], into(data), source, tag, plane));
    EXPECT_EQ(data, numbered(expected));
    return outcome;
  }
  static Data numbered(int number) { return pattern(kBytes, static_cast<std::uint8_t>(number)); }
  static constexpr std::size_t kBytes = 24;
};

TEST_F(FastPath, TakesOneMessageAndLeavesTheNext) {
  for (int i = 0; i < 10; ++i) send(i, 3);
  for (int i = 0; i < 10; ++i) {
    MessageStatus outcome = receive(i, 0, 3);
    EXPECT_EQ(outcome.source, 0);
    EXPECT_EQ(outcome.tag, 3);
    EXPECT_EQ(outcome.bytes, kBytes);
  }
  EXPECT_EQ(receiver.counts().unexpected, 0u);
  EXPECT_EQ(receiver.counts().posted_matches, 10u);
}

TEST_F(FastPath, AcceptsAnySourceAndAnyTag) {
  send(1, 5);
  send(2, 6);
  EXPECT_EQ(receive(1, kAnySource, kAnyTag).tag, 5);
  EXPECT_EQ(receive(2, 0, kAnyTag).tag, 6);
  EXPECT_EQ(receiver.counts().unexpected, 0u);
}

TEST_F(FastPath, DoesNotMatchOtherTagsOrPlanes) {
  send(1, 8);
  send(2, 7, Plane::collective);
  send(3, 7);
  receive(3, 0, 7);
  EXPECT_EQ(receiver.counts().unexpected, 2u);
  receive(1, 0, 8);
  receive(2, 0, 7, Plane::collective);
}

TEST_F(FastPath, DoesNotOvertakeAnUnexpectedMessage) {
  send(1, 7);
  ASSERT_TRUE(receiver.progress());
  send(2, 7);
  receive(1, 0, 7);
  receive(2, 0, 7);
}

TEST_F(FastPath, DoesNotOvertakeARendezvousOrSynchronousMessage) {
  const std::size_t kLongBytes = 100'000;
  for (auto [bytes, mode] :
       {std::pair(kLongBytes, SendMode::standard), std::pair(kBytes, SendMode::synchronous)}) {
    Data first = pattern(bytes, 9);
    Request* sent = value_of(sender.isend(*contexts[0], from(first), 1, 7, mode));
    send(2, 8);
    std::jthread other([&] { EXPECT_TRUE(sender.wait(*sent)); });
    for (auto [tag, length] : {std::pair(7, bytes), std::pair(8, kBytes)}) {
      Data buffer(kLongBytes);
      MessageStatus outcome = value_of(receiver.recv(*contexts[1], into(buffer), 0, kAnyTag));
      EXPECT_EQ(outcome.tag, tag);
      EXPECT_EQ(outcome.bytes, length);
    }
    other.join();
    sender.release(sent);
  }
}

TEST_F(FastPath, DoesNotOvertakeAPostedReceive) {
  Data first(kBytes);
  Request* posted = value_of(receiver.irecv(*contexts[1], into(first), kAnySource, kAnyTag));
  send(1, 7);
  send(2, 7);
  receive(2, 0, 7);
  EXPECT_TRUE(posted->is_done());
  EXPECT_EQ(first, numbered(1));
  receiver.release(posted);
}

TEST_F(FastPath, ReceivesSendsThatMayBeCancelled) {
  Data data = numbered(4);
  Request* request = value_of(sender.isend(*contexts[0], from(data), 1, 7, SendMode::standard));
  receive(4, 0, 7);
  EXPECT_TRUE(request->is_done());
  sender.release(request);
  EXPECT_EQ(receiver.counts().unexpected, 0u);
}

TEST_F(FastPath, AcceptsAShorterMessage) {
  send(1, 7);
  Data buffer(2 * kBytes);
  EXPECT_EQ(value_of(receiver.recv(*contexts[1], into(buffer), 0, 7)).bytes, kBytes);
  buffer.resize(kBytes);
  EXPECT_EQ(buffer, numbered(1));
}

TEST_F(FastPath, TruncatesAndReportsATooLongMessage) {
  send(1, 7);
  Data buffer(kBytes);
  auto received = receiver.recv(*contexts[1], {buffer.data(), kBytes / 2, &kByte}, 0, 7);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().error_class(), ErrorClass::truncate);
  Data expected = numbered(1);
  std::fill(expected.begin() + kBytes / 2, expected.end(), std::uint8_t{0});
  EXPECT_EQ(buffer, expected);
}

TEST_F(FastPath, ReportsAMessageThatEndsInsideAnElement) {
  Data odd = pattern(12, 1);
  ASSERT_TRUE(sender.send(*contexts[0], from(odd), 1, 7, SendMode::standard));
  std::array<double, 3> buffer{};
  auto received = receiver.recv(
      *contexts[1], {buffer.data(), buffer.size(), types::find_predefined("MPI_DOUBLE")}, 0, 7);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().error_class(), ErrorClass::type);
}

// Registered work runs although each receive finds its message.
TEST_F(FastPath, RegisteredWorkRuns) {
  int turns = 0;
  const std::uint64_t number = receiver.add_progress([&turns] { ++turns; });
  for (int i = 0; i < 100; ++i) {
    send(i, 3);
    receive(i, 0, 3);
  }
  EXPECT_GE(turns, 5);
  receiver.remove_progress(number);
}

/// Several processes send to one process, which receives from each in turn.
class FastPathAmongMany : public testing::Test {
 protected:
  /// Receive one message of rank 0 at each other rank, so that rank 0 has a link to each of them.
  void open_links() {
    for (int rank = 1; rank < world.size(); ++rank) {
      send(0, rank, kSetUpTag);
      ASSERT_TRUE(world.step_until([&] { return is_there(rank, 0, kSetUpTag); }));
      receive(rank, 0, kSetUpTag);
    }
  }
  void send(int source, int dest, int tag) {
    Data data = pattern(kBytes, static_cast<std::uint8_t>(source));
    ASSERT_TRUE(world.engine(source).send(*contexts[static_cast<std::size_t>(source)], from(data),
                                          dest, tag, SendMode::standard));
  }
  void receive(int at, int source, int tag) {
    Data data(kBytes);
    ASSERT_TRUE(
        world.engine(at).recv(*contexts[static_cast<std::size_t>(at)], into(data), source, tag));
    EXPECT_EQ(data, pattern(kBytes, static_cast<std::uint8_t>(source)));
  }
  bool is_there(int at, int source, int tag) {
    auto found = world.engine(at).iprobe(*contexts[static_cast<std::size_t>(at)], source, tag);
    return found && found->has_value();
  }
  std::uint64_t unexpected() { return world.engine(0).counts().unexpected; }

  static constexpr std::size_t kBytes = 24;
  static constexpr int kSetUpTag = 1, kTag = 2;
  World world{{.processes = 4}};
  std::vector<ContextPtr> contexts = world.contexts();
};

TEST_F(FastPathAmongMany, MessagesOfOtherSendersStayInTheTransport) {
  open_links();
  const std::uint64_t before = unexpected();
  for (int rank : {3, 1, 2}) send(rank, 0, kTag);
  for (int rank : {1, 2, 3}) receive(0, rank, kTag);
  EXPECT_EQ(unexpected(), before);
}

TEST_F(FastPathAmongMany, OtherOperationsProgressAlthoughEachReceiveFindsItsMessage) {
  open_links();
  Data long_message = pattern(100'000, 2), buffer(100'000);
  Request* sent = value_of(
      world.engine(0).isend(*contexts[0], from(long_message), 2, kTag, SendMode::standard));
  Request* received = value_of(world.engine(2).irecv(*contexts[2], into(buffer), 0, kTag));
  for (int i = 0; i < 1000 && !(sent->is_done() && received->is_done()); ++i) {
    send(1, 0, kTag);
    receive(0, 1, kTag);
    ASSERT_TRUE(world.engine(2).progress());
  }
  EXPECT_TRUE(sent->is_done() && received->is_done());
  EXPECT_EQ(buffer, long_message);
  Engine::release(sent);
  Engine::release(received);
}

}  // namespace
}  // namespace shim::p2p
