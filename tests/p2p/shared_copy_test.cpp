// SPDX-License-Identifier: BSD-3-Clause
// Tests long messages that both processes copy (shim/p2p/shared_copies.hpp).
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using transport::LoopFaults;

constexpr std::size_t kUnevenBytes = 1'000'001;  // not a multiple of the part size

struct LinkedProcesses {
  World world;
  std::vector<ContextPtr> contexts = world.contexts();
  /// Exchange one message in each direction, which opens both links.
  explicit LinkedProcesses(LoopFaults faults = {}) : world({.processes = 2, .faults = faults}) {
    constexpr std::size_t kLongButNotShared = 20'000;
    Data there(kLongButNotShared), here(kLongButNotShared);
    end(send(there, 0), receive(there, 1));
    end(send(here, 1), receive(here, 0));
  }

  Request* send(const Data& data, int source = 0, int tag = 0) {
    return value_of(world.engine(source).isend(*contexts[static_cast<std::size_t>(source)],
                                               from(data), 1 - source, tag, SendMode::standard));
  }
  Request* receive(Data& data, int rank = 1, int tag = 0) {
    return value_of(world.engine(rank).irecv(*contexts[static_cast<std::size_t>(rank)], into(data),
                                             1 - rank, tag));
  }
  void end(Request* sent, Request* received) {
    ASSERT_TRUE(world.step_until([&] { return sent->is_done() && received->is_done(); }));
    EXPECT_EQ(sent->error(), nullptr);
    EXPECT_EQ(received->error(), nullptr);
    Engine::release(sent);
    Engine::release(received);
  }
  void pass(std::uint32_t seed, std::size_t bytes = kUnevenBytes) {
    const Data data = pattern(bytes, seed);
    Data there(bytes);
    end(send(data), receive(there));
    EXPECT_TRUE(there == data);
  }
  std::uint64_t written() { return world.engine(0).counts().parts_written; }
};

TEST(SharedCopy, SenderWritesPartsWhileItMakesProgress) {
  LinkedProcesses pair;
  // one written part suffices: a late sender does not join a shared copy
  for (std::uint32_t message = 0; message < 20; ++message) pair.pass(message);
  EXPECT_GT(pair.written(), 0u);
  EXPECT_EQ(pair.world.engine(1).counts().single_copies, 1 + 20u);
}

TEST(SharedCopy, ReceiverCopiesShortMessagesAlone) {
  LinkedProcesses pair;
  pair.pass(1, 60'000);
  EXPECT_EQ(pair.written(), 0u);
}

TEST(SharedCopy, ReceiverCompletesWithoutTheSender) {
  LinkedProcesses pair;
  const Data data = pattern(kUnevenBytes, 1);
  Data there(kUnevenBytes);
  Request* sent = pair.send(data);
  Request* received = pair.receive(there);
  for (int i = 0; i < 1000 && !received->is_done(); ++i)
    ASSERT_TRUE(pair.world.engine(1).progress());
  EXPECT_TRUE(received->is_done());
  EXPECT_FALSE(sent->is_done());
  pair.end(sent, received);
  EXPECT_TRUE(there == data);
  EXPECT_EQ(pair.written(), 0u) << "the sender came when no parts were left";
}

/// Information on a finished copy must not make the sender write into the next one.
TEST(SharedCopy, LateSenderDoesNotAffectTheNextMessage) {
  LinkedProcesses pair;
  const Data first = pattern(kUnevenBytes, 1), second = pattern(kUnevenBytes, 2);
  Data there(kUnevenBytes), next(kUnevenBytes);
  Request* sent[] = {pair.send(first), pair.send(second)};
  Request* received[] = {pair.receive(there), pair.receive(next)};
  for (int i = 0; i < 1000 && !received[0]->is_done(); ++i)
    ASSERT_TRUE(pair.world.engine(1).progress());
  pair.end(sent[0], received[0]);
  pair.end(sent[1], received[1]);
  EXPECT_TRUE(there == first);
  EXPECT_TRUE(next == second);
}

/// Transfer several messages, all of which are announced before the first is copied.
void transfer_many(LinkedProcesses& pair) {
  constexpr int kMessages = 7;
  std::vector<Data> data, there(kMessages, Data(kUnevenBytes));
  std::vector<Request*> sent, received;
  for (int i = 0; i < kMessages; ++i)
    data.push_back(pattern(kUnevenBytes - static_cast<std::size_t>(i) * 100'000,
                           static_cast<std::uint32_t>(i)));
  for (int i = 0; i < kMessages; ++i) {
    there[static_cast<std::size_t>(i)].resize(data[static_cast<std::size_t>(i)].size());
    sent.push_back(pair.send(data[static_cast<std::size_t>(i)]));
    received.push_back(pair.receive(there[static_cast<std::size_t>(i)]));
  }
  for (std::size_t i = 0; i < kMessages; ++i) pair.end(sent[i], received[i]);
  EXPECT_TRUE(there == data);
}

TEST(SharedCopy, MessagesOfOneSenderAreCopiedInTurn) {
  LinkedProcesses pair;
  transfer_many(pair);
}

/// A process that copies one message, while others are queued, also sends long messages.
TEST(SharedCopy, QueuedMessagesCompleteIfTheReceiverBeginsToSend) {
  LinkedProcesses pair;
  constexpr std::size_t kMessages = 5;
  const Data ours = pattern(kUnevenBytes, 1), theirs = pattern(kUnevenBytes, 2);
  std::vector<Data> here(kMessages, Data(kUnevenBytes)), there(kMessages, Data(kUnevenBytes));
  std::vector<Request*> sent, received;
  for (std::size_t i = 0; i < kMessages; ++i) sent.push_back(pair.send(ours, 0));
  for (Data& data : there) received.push_back(pair.receive(data, 1));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.world.engine(1).progress());
  for (std::size_t i = 0; i < kMessages; ++i) sent.push_back(pair.send(theirs, 1));
  for (Data& data : here) received.push_back(pair.receive(data, 0));
  for (std::size_t i = 0; i < 2 * kMessages; ++i) pair.end(sent[i], received[i]);
  EXPECT_EQ(there, std::vector(kMessages, ours));
  EXPECT_EQ(here, std::vector(kMessages, theirs));
}

TEST(SharedCopy, EachReceiverCopiesAloneInBothDirections) {
  LinkedProcesses pair;
  const Data ours = pattern(kUnevenBytes, 1), theirs = pattern(kUnevenBytes, 2);
  Data here(kUnevenBytes), there(kUnevenBytes);
  Request* sent[] = {pair.send(ours, 0), pair.send(theirs, 1)};
  Request* received[] = {pair.receive(there, 1), pair.receive(here, 0)};
  pair.end(sent[0], received[0]);
  pair.end(sent[1], received[1]);
  EXPECT_TRUE(there == ours);
  EXPECT_TRUE(here == theirs);
  EXPECT_EQ(pair.written(), 0u);
}

TEST(SharedCopy, SenderDoesNotWritePastATooShortBuffer) {
  LinkedProcesses pair;
  const Data data = pattern(kUnevenBytes, 1);
  Data there(kUnevenBytes, 0x55);
  Request* sent = pair.send(data);
  Request* received = value_of(
      pair.world.engine(1).irecv(*pair.contexts[1], {there.data(), 300'000, &kByte}, 0, 0));
  ASSERT_TRUE(pair.world.step_until([&] { return sent->is_done() && received->is_done(); }));
  ASSERT_NE(received->error(), nullptr);
  EXPECT_EQ(received->error()->error_class(), base::ErrorClass::truncate);
  EXPECT_TRUE(std::equal(there.begin(), there.begin() + 300'000, data.begin()));
  EXPECT_TRUE(
      std::all_of(there.begin() + 300'000, there.end(), [](auto byte) { return byte == 0x55; }));
  Engine::release(sent);
  Engine::release(received);
}

struct CopyFault {
  const char* name;
  LoopFaults faults;
};
class SharedCopyFaults : public testing::TestWithParam<CopyFault> {};

TEST_P(SharedCopyFaults, FallsBackToOtherTransfers) {
  LinkedProcesses pair(GetParam().faults);
  transfer_many(pair);
  for (std::uint32_t message = 0; message < 5; ++message) pair.pass(message);
  EXPECT_EQ(pair.written(), 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Faults, SharedCopyFaults,
    testing::Values(
        CopyFault{"writes_fail", {.writes = LoopFaults::Reads::fail}},
        CopyFault{"no_writes", {.writes = LoopFaults::Reads::unsupported}},
        CopyFault{"reads_fail",
                  {.reads = LoopFaults::Reads::fail, .writes = LoopFaults::Reads::fail}},
        CopyFault{"no_reads",
                  {.reads = LoopFaults::Reads::unsupported, .writes = LoopFaults::Reads::fail}}),
    [](const auto& test) { return test.param.name; });

/// If the receiver cannot read although the sender could write, then both fall back to packets, and
/// the sender writes nothing after the message has arrived.
TEST(SharedCopy, ReceiverThatCannotReadFallsBackToPackets) {
  LinkedProcesses pair({.reads = LoopFaults::Reads::fail});
  for (std::uint32_t message = 0; message < 5; ++message) pair.pass(message);
}

TEST(SharedCopy, DeathOfASenderWithClaimedPartsEndsTheReceive) {
  LinkedProcesses pair;
  const Data data = pattern(kUnevenBytes, 1);
  Data there(kUnevenBytes);
  pair.send(data);
  Request* received = pair.receive(there);
  constexpr std::uint32_t kFirstTurn = 1;
  const auto claim_as_sender = [&] {
    return pair.world.network().cooperative_copy(0, 1).claim(kFirstTurn).count != 0;
  };
  for (int i = 0; i < 10 && !received->is_done() && !claim_as_sender(); ++i)
    ASSERT_TRUE(pair.world.engine(1).progress());
  pair.world.kill(0);
  ASSERT_TRUE(pair.world.engine(1).wait_until([&] { return received->is_done(); },
                                              base::Deadline::after_seconds(20)));
  ASSERT_NE(received->error(), nullptr);
  EXPECT_EQ(received->error()->error_class(), base::ErrorClass::proc_aborted);
  Engine::release(received);
}

TEST(SharedCopy, WorksWithConcurrentThreads) {
  LinkedProcesses pair;
  constexpr std::uint32_t kMessages = 40;
  pair.world.run([&](int rank) {
    Engine& engine = pair.world.engine(rank);
    Context& context = *pair.contexts[static_cast<std::size_t>(rank)];
    for (std::uint32_t message = 0; message < kMessages; ++message) {
      const std::size_t bytes = 65'536 + message * 30'011;
      const Data expected = pattern(bytes, message);
      Data data = rank == 0 ? expected : Data(bytes);
      if (rank == 0)
        ASSERT_TRUE(engine.send(context, from(data), 1, 0, SendMode::standard));
      else
        ASSERT_TRUE(engine.recv(context, into(data), 0, 0));
      EXPECT_TRUE(data == expected) << "message " << message;
    }
  });
}

}  // namespace
}  // namespace shim::p2p
