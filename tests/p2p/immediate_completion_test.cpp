// SPDX-License-Identifier: BSD-3-Clause
// Tests non-blocking operations that complete in the call that starts them: inline sends, and
// receives whose message has already arrived.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

class ImmediateCompletion : public testing::Test, protected TwoEngines {
 protected:
  static constexpr std::size_t kBytes = 24;
  static Data numbered(int number) { return pattern(kBytes, static_cast<std::uint8_t>(number)); }

  void SetUp() override {  // opens both links: a process opens its link with the first send
    Data data(1);
    ASSERT_TRUE(receiver.send(*contexts[1], from(data), 0, 0, SendMode::standard));
    ASSERT_TRUE(sender.recv(*contexts[0], into(data), 1, 0));
    ASSERT_TRUE(sender.send(*contexts[0], from(data), 1, 0, SendMode::standard));
    ASSERT_TRUE(receiver.recv(*contexts[1], into(data), 0, 0));
  }
  InlineSent send(int number, int tag) {
    InlineSent inline_sent;
    EXPECT_EQ(value_of(sender.send_or_start(*contexts[0], from(numbered(number)), 1, tag,
                                            SendMode::standard, inline_sent)),
              nullptr);
    return inline_sent;
  }
  Request* start(Data& buffer, int source, int tag) {
    return value_of(receiver.receive_or_start(*contexts[1], into(buffer), source, tag, outcome));
  }
  void expect_immediate(int number, int source, int tag) {
    Data buffer(kBytes);
    ASSERT_EQ(start(buffer, source, tag), nullptr);
    EXPECT_EQ(buffer, numbered(number));
    EXPECT_EQ(outcome.source, 0);
    EXPECT_EQ(outcome.bytes, kBytes);
  }
  void expect_later(int number, Data& buffer, Request* request) {
    ASSERT_NE(request, nullptr);
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->error(), nullptr);
    EXPECT_EQ(buffer, numbered(number));
    Engine::release(request);
  }

  MessageStatus outcome;
};

TEST_F(ImmediateCompletion, ArrivedMessagesNeedNoRequest) {
  for (int i = 0; i < 10; ++i) send(i, i);
  for (int i = 0; i < 10; ++i) {
    expect_immediate(i, 0, i % 2 == 0 ? i : kAnyTag);
    EXPECT_EQ(outcome.tag, i);
  }
  EXPECT_EQ(receiver.counts().unexpected, 0u);
}

TEST_F(ImmediateCompletion, DoesNotOvertakeAPostedReceive) {
  for (int source : {0, kAnySource}) {
    Data first(kBytes), second(kBytes);
    Request* before = start(first, source, 7);
    send(1, 7);
    send(2, 7);
    Request* after = start(second, 0, 7);
    ASSERT_TRUE(before != nullptr && after != nullptr);
    expect_later(1, first, before);
    expect_later(2, second, after);
  }
}

// Receives after a posted one are posted, too, up to a limit. Then the engine polls for their
// messages, and for no others.
TEST_F(ImmediateCompletion, PostedReceivesAreLimited) {
  constexpr int kMessages = 20, kMaxPosted = 9;
  std::vector<Data> buffers(kMessages, Data(kBytes));
  std::vector<Request*> waiting{start(buffers[0], 0, 7)};
  ASSERT_NE(waiting[0], nullptr);
  for (int i = 0; i < kMessages; ++i) send(i, 7);
  int number = 1;
  while (Request* request = start(buffers[static_cast<std::size_t>(number)], 0, 7)) {
    waiting.push_back(request);
    ASSERT_LT(++number, kMaxPosted) << "the engine must poll after a few posted receives";
  }
  for (const Request* request : waiting) EXPECT_TRUE(request->is_done());
  for (++number; number < kMessages; ++number)
    ASSERT_EQ(start(buffers[static_cast<std::size_t>(number)], 0, 7), nullptr) << number;
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(buffers[static_cast<std::size_t>(i)], numbered(i));
  for (Request* request : waiting) Engine::release(request);
  EXPECT_EQ(receiver.counts().unexpected, 0u)
      << "the engine must not take messages without a posted receive";
}

TEST_F(ImmediateCompletion, OvertakesAPostedReceiveFromAnotherSource) {
  Data own(kBytes);
  Request* from_self = start(own, 1, 7);
  send(1, 7);
  expect_immediate(1, 0, 7);
  ASSERT_FALSE(from_self->is_done());
  ASSERT_TRUE(receiver.send(*contexts[1], from(numbered(2)), 1, 7, SendMode::standard));
  expect_later(2, own, from_self);
}

TEST_F(ImmediateCompletion, RequestsOfSeveralEnginesAreReleasedTogether) {
  constexpr int kEach = 3;
  std::vector<Data> buffers(2 * kEach, Data(kBytes));
  std::vector<Request*> requests;
  for (int i = 0; i < kEach; ++i) {
    requests.push_back(start(buffers[static_cast<std::size_t>(2 * i)], 0, i));
    requests.push_back(value_of(
        sender.irecv(*contexts[0], into(buffers[static_cast<std::size_t>(2 * i + 1)]), 1, i)));
  }
  send(0, 0);
  ASSERT_TRUE(world.step_until([&] { return requests[0]->is_done(); }));
  Engine::release(requests);  // the incomplete receives complete without their requests
  for (int i = 0; i < kEach; ++i) {
    if (i != 0) send(i, i);
    ASSERT_TRUE(receiver.send(*contexts[1], from(numbered(10 + i)), 0, i, SendMode::standard));
  }
  const auto all_have_come = [&] {
    for (int i = 0; i < kEach; ++i)
      if (buffers[static_cast<std::size_t>(2 * i)] != numbered(i) ||
          buffers[static_cast<std::size_t>(2 * i + 1)] != numbered(10 + i))
        return false;
    return true;
  };
  EXPECT_TRUE(world.step_until(all_have_come));
}

TEST_F(ImmediateCompletion, DoesNotOvertakeAMessageWithAnotherTag) {
  send(1, 8);
  send(2, 7);
  Data first(kBytes), second(kBytes);
  Request* of_second = start(second, 0, 7);
  ASSERT_NE(of_second, nullptr);
  EXPECT_EQ(receiver.counts().unexpected, 0u);
  Request* of_first = start(first, 0, 8);
  expect_later(1, first, of_first);
  expect_later(2, second, of_second);
}

TEST_F(ImmediateCompletion, DoesNotOvertakeAnUnexpectedMessage) {
  send(1, 7);
  ASSERT_TRUE(receiver.progress());
  EXPECT_EQ(receiver.counts().unexpected, 1u);
  send(2, 7);
  Data buffer(kBytes);
  expect_later(1, buffer, start(buffer, 0, 7));
  expect_immediate(2, 0, 7);
}

TEST_F(ImmediateCompletion, NotForRendezvousSynchronousOrTruncatedMessages) {
  const Data long_data = pattern(100'000, 1), small = numbered(1);
  for (auto [data, mode] :
       {std::pair(&long_data, SendMode::standard), std::pair(&small, SendMode::synchronous)}) {
    InlineSent inline_sent;
    Request* sent = value_of(
        sender.send_or_start(*contexts[0], from(*data), 1, 7, mode, inline_sent));
    ASSERT_NE(sent, nullptr);
    Data buffer(data->size());
    Request* request = start(buffer, 0, 7);
    ASSERT_NE(request, nullptr);
    ASSERT_TRUE(world.step_until([&] { return request->is_done() && sent->is_done(); }));
    EXPECT_EQ(buffer, *data);
    Engine::release(request);
    Engine::release(sent);
  }
  send(1, 7);
  Data too_small(kBytes / 2);
  Request* request = start(too_small, 0, 7);
  ASSERT_NE(request, nullptr);
  ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
  ASSERT_NE(request->error(), nullptr);
  EXPECT_EQ(request->error()->error_class(), base::ErrorClass::truncate);
  Engine::release(request);
}

TEST_F(ImmediateCompletion, AcceptsAShorterMessage) {
  send(1, 7);
  Data buffer(2 * kBytes);
  ASSERT_EQ(start(buffer, 0, 7), nullptr);
  EXPECT_EQ(outcome.bytes, kBytes);
  buffer.resize(kBytes);
  EXPECT_EQ(buffer, numbered(1));
}

TEST_F(ImmediateCompletion, NullRankCompletesWithoutAMessage) {
  InlineSent inline_sent;
  Data data(kBytes);
  EXPECT_EQ(value_of(sender.send_or_start(*contexts[0], from(data), kProcNull, 7,
                                          SendMode::standard, inline_sent)),
            nullptr);
  EXPECT_EQ(inline_sent.number, 0u);
  EXPECT_EQ(start(data, kProcNull, 7), nullptr);
  EXPECT_EQ(outcome.source, kProcNull);
}

TEST_F(ImmediateCompletion, UnmatchedInlineSendCanBeCancelled) {
  const InlineSent inline_sent = send(1, 7);
  Request* request = sender.request_of(*contexts[0], inline_sent);
  ASSERT_TRUE(request->is_done());
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
  EXPECT_TRUE(request->outcome().cancelled);
  Engine::release(request);
  send(2, 7);
  Data buffer(kBytes);
  ASSERT_TRUE(receiver.recv(*contexts[1], into(buffer), 0, 7));
  EXPECT_EQ(buffer, numbered(2));
}

TEST_F(ImmediateCompletion, ReceivedInlineSendIsNotCancelled) {
  const InlineSent inline_sent = send(1, 7);
  expect_immediate(1, 0, 7);
  Request* request = sender.request_of(*contexts[0], inline_sent);
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
  EXPECT_FALSE(request->outcome().cancelled);
  Engine::release(request);
}

// Registered work runs although each receive finds its message.
TEST_F(ImmediateCompletion, RegisteredWorkRuns) {
  int turns = 0;
  const std::uint64_t number = receiver.add_progress([&turns] { ++turns; });
  for (int i = 0; i < 2000; ++i) {
    send(i, 3);
    Data buffer(kBytes);
    if (Request* request = start(buffer, 0, 3)) expect_later(i, buffer, request);
    EXPECT_EQ(buffer, numbered(i));
  }
  EXPECT_GE(turns, 3);
  receiver.remove_progress(number);
}

}  // namespace
}  // namespace shim::p2p
