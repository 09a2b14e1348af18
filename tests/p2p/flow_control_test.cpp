// SPDX-License-Identifier: BSD-3-Clause
// Tests flow control: if more messages arrive than are received, their memory stays limited, their
// senders keep the rest, and other messages are not delayed.
#include <deque>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

constexpr std::uint64_t kLimit = 64 * 1024;
constexpr std::size_t kBytes = 1000;
constexpr int kFlood = 4000, kFloodTag = 5, kOtherTag = 6;
// Messages that a sender sends before it polls (transports.hpp), plus those that the network holds.
// The first number is larger for empty messages.
constexpr int kMaxAfterTheLimit = 175 + 64, kMaxEmptyAfterTheLimit = 512 + 64;

World::Options options(std::uint64_t limit = kLimit, int processes = 3) {
  World::Options options{.processes = processes, .faults = {.queue_limit = 64}};
  options.settings.unexpected_bytes = limit;
  return options;
}

class FlowControl : public testing::Test {
 protected:
  World world{options()};
  std::vector<ContextPtr> contexts = world.contexts();
  Engine& sender = world.engine(0);
  Engine& receiver = world.engine(1);
  std::deque<Data> data;
  std::vector<Request*> sends;

  ~FlowControl() override {
    for (Request* request : sends) Engine::release(request);
  }

  void send_one(Context& context, std::size_t bytes = kBytes, SendMode mode = SendMode::standard) {
    data.push_back(pattern(bytes, static_cast<std::uint32_t>(data.size())));
    sends.push_back(value_of(sender.isend(context, from(data.back()), 1, kFloodTag, mode)));
  }
  /// Send without waiting; the receiver polls but posts no receives.
  void flood(Context& context, int messages = kFlood, std::size_t bytes = kBytes) {
    for (int i = 0; i < messages; ++i) {
      send_one(context, bytes);
      ASSERT_TRUE(receiver.progress());
    }
  }
  std::uint64_t eager() const { return sender.counts().eager_sent; }
  /// Receive all sent messages, in order.
  void receive_all(Context& context) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      Data received(data[i].size());
      Request* request = value_of(receiver.irecv(context, into(received), 0, kFloodTag));
      ASSERT_TRUE(world.step_until([&] { return request->is_done(); })) << i;
      EXPECT_EQ(request->error(), nullptr);
      ASSERT_EQ(received, data[i]) << i;
      Engine::release(request);
    }
    ASSERT_TRUE(world.step_until([&] {
      return std::ranges::all_of(sends, [](const Request* send) { return send->is_done(); });
    }));
  }
};

TEST_F(FlowControl, UnexpectedMessagesStayWithTheSender) {
  flood(*contexts[0]);
  EXPECT_GT(eager(), kLimit / 2 / kBytes) << "messages below the limit are sent eagerly";
  EXPECT_LE(eager(), kLimit / kBytes + kMaxAfterTheLimit);
  EXPECT_EQ(receiver.counts().throttled, 1u);
  EXPECT_LT(receiver.counts().unexpected_bytes_most, std::uint64_t{kFlood} * kBytes / 2);
  receive_all(*contexts[1]);
}

TEST_F(FlowControl, AppliesToEmptyMessages) {
  flood(*contexts[0], kFlood, 0);
  EXPECT_LE(eager(), kLimit / 100 + kMaxEmptyAfterTheLimit);
  receive_all(*contexts[1]);
}

TEST_F(FlowControl, EndsOnceMemoryIsFree) {
  flood(*contexts[0]);
  receive_all(*contexts[1]);
  for (int i = 0; i < 10; ++i) world.step();
  const std::uint64_t before = eager();
  data.clear();
  for (int i = 0; i < 10; ++i) send_one(*contexts[0]);
  EXPECT_EQ(eager(), before + 10);
  receive_all(*contexts[1]);
  EXPECT_EQ(receiver.counts().throttled, 1u);
}

TEST_F(FlowControl, ExpectedMessagesArrive) {
  flood(*contexts[0]);
  Data sent = pattern(kBytes, 99), long_one = pattern(50'000, 98), received(kBytes),
       received_long(50'000), received_any(kBytes);
  Request* directed = value_of(receiver.irecv(*contexts[1], into(received), 0, kOtherTag));
  Request* longer = value_of(receiver.irecv(*contexts[1], into(received_long), 0, kOtherTag + 1));
  Request* any = value_of(receiver.irecv(*contexts[1], into(received_any), kAnySource, kOtherTag));
  Request* collective = value_of(
      receiver.irecv(*contexts[1], {nullptr, 0, &kByte}, 2, kFloodTag, Plane::collective));
  sends.push_back(
      value_of(sender.isend(*contexts[0], from(sent), 1, kOtherTag, SendMode::standard)));
  sends.push_back(
      value_of(sender.isend(*contexts[0], from(long_one), 1, kOtherTag + 1, SendMode::standard)));
  sends.push_back(
      value_of(world.engine(2).isend(*contexts[2], from(sent), 1, kOtherTag, SendMode::standard)));
  sends.push_back(value_of(world.engine(2).isend(*contexts[2], {nullptr, 0, &kByte}, 1, kFloodTag,
                                                 SendMode::standard, Plane::collective)));
  int handled = 0;
  receiver.set_control_handler([&](base::ProcessId, std::span<const std::byte>) { ++handled; });
  ASSERT_TRUE(sender.send_control({0, 1}, std::vector<std::byte>(10)));
  for (Request* request : {directed, longer, any, collective}) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_EQ(request->error(), nullptr);
    Engine::release(request);
  }
  EXPECT_EQ(received, sent);
  EXPECT_EQ(received_any, sent);
  EXPECT_EQ(received_long, long_one);
  EXPECT_TRUE(world.step_until([&] { return handled == 1; }));
  receive_all(*contexts[1]);
}

TEST_F(FlowControl, AppliesBeforeTheCommunicatorExists) {
  ContextPtr duplicate = world.context(0, {}, 500);
  flood(*duplicate);
  EXPECT_LE(eager(), kLimit / kBytes + kMaxAfterTheLimit);
  ContextPtr late = world.context(1, {}, 500);
  receive_all(*late);
}

TEST_F(FlowControl, AppliesToQueuedMessages) {
  for (int i = 0; i < kFlood; ++i)
    send_one(*contexts[0], i % 2 == 0 ? kBytes : 10,
             i % 3 == 0 ? SendMode::synchronous : SendMode::standard);
  for (int i = 0; i < 1000; ++i) world.step();
  EXPECT_LE(receiver.counts().unexpected_bytes_most, kLimit + kFlood * 500);
  EXPECT_GT(sender.counts().rendezvous_sent, std::uint64_t{kFlood} * 3 / 4);
  Request* back = sends[kFlood - 1];
  ASSERT_TRUE(Engine::cancel(*back));
  ASSERT_TRUE(world.step_until([&] { return back->is_done(); }));
  EXPECT_TRUE(back->outcome().cancelled);
  data.pop_back();
  receive_all(*contexts[1]);
}

TEST(FlowControlOfAQueue, SenderPollsWhileItsQueueDrains) {
  constexpr std::size_t kRoom = 1000;
  World world({.processes = 2, .faults = {.queue_limit = kRoom}});
  auto contexts = world.contexts();
  const Data data = pattern(kBytes, 1);
  std::vector<Request*> sends;
  for (int i = 0; i < kFlood; ++i)
    sends.push_back(value_of(
        world.engine(0).isend(*contexts[0], from(data), 1, kFloodTag, SendMode::standard)));
  ASSERT_EQ(world.network().in_flight(), kRoom) << "the other messages are queued at the sender";
  while (world.network().in_flight() != 0) ASSERT_TRUE(world.engine(1).progress());
  for (std::size_t before = 0, after = 1; after != before;) {
    before = world.network().in_flight();
    ASSERT_TRUE(world.engine(0).progress());
    after = world.network().in_flight();
    ASSERT_LE(after - before, 175u) << "messages sent in one round";
  }
  EXPECT_EQ(world.network().in_flight(), kRoom);
  for (Request* request : sends) Engine::release(request);
}

TEST_F(FlowControl, CancelledBeforeSendIsDropped) {
  for (int i = 0; i < 200; ++i) send_one(*contexts[0]);
  Request* back = sends.back();
  ASSERT_FALSE(back->is_done());
  ASSERT_TRUE(Engine::cancel(*back));
  ASSERT_TRUE(world.step_until([&] { return back->is_done(); }));
  EXPECT_TRUE(back->outcome().cancelled);
  EXPECT_EQ(receiver.counts().throttled, 1u);
  data.pop_back();
  receive_all(*contexts[1]);
}

TEST_F(FlowControl, ThrottledSenderMayDie) {
  flood(*contexts[0]);
  world.kill(0);
  Data received(kBytes);
  int still_there = 0;
  for (; still_there < kFlood; ++still_there) {
    auto got = receiver.recv(*contexts[1], into(received), 0, kFloodTag);
    if (!got) {
      EXPECT_EQ(got.error().error_class(), base::ErrorClass::proc_aborted);
      break;
    }
  }
  EXPECT_GT(still_there, 0) << "messages that had arrived can be received";
  EXPECT_LT(still_there, kFlood);
}

TEST(FlowControlOfThreads, ReceiverWakesAWaitingSender) {
  World world(options(0, 2));
  auto contexts = world.contexts();
  constexpr int kMessages = 2000;
  world.run([&](int rank) {
    Context& context = *contexts[static_cast<std::size_t>(rank)];
    Data late(8), each(kBytes);
    if (rank == 0) {
      for (int i = 0; i < kMessages; ++i)
        ASSERT_TRUE(world.engine(0).send(context,
                                         from(pattern(kBytes, static_cast<std::uint32_t>(i))), 1,
                                         i % 2, SendMode::standard));
      return;
    }
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(world.engine(1).recv(context, into(each), i % 3 == 0 ? kAnySource : 0, i % 2));
      ASSERT_EQ(each, pattern(kBytes, static_cast<std::uint32_t>(i)));
    }
  });
  EXPECT_LE(world.engine(1).counts().unexpected_bytes_most, (kMaxAfterTheLimit + 1) * 2 * kBytes);
}

}  // namespace
}  // namespace shim::p2p
