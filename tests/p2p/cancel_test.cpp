// SPDX-License-Identifier: BSD-3-Clause
// Tests cancelled sends.
#include <deque>
#include <random>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

struct How {
  std::size_t bytes;
  SendMode mode;
};

class Cancel : public testing::TestWithParam<How> {
 protected:
  World world{{.processes = 2}};
  std::vector<ContextPtr> contexts = world.contexts();
  Data sent = pattern(GetParam().bytes, 1), received = Data(GetParam().bytes);

  Request* send(int tag = 3) {
    return value_of(world.engine(0).isend(*contexts[0], from(sent), 1, tag, GetParam().mode));
  }
  Request* receive(int tag = 3) {
    return value_of(world.engine(1).irecv(*contexts[1], into(received), 0, tag));
  }
  bool ends(const Request* request) {
    return world.step_until([&] { return request->is_done(); });
  }
  /// True if the send completes as soon as its message has left.
  static bool completes_at_once() {
    return GetParam().mode != SendMode::synchronous && GetParam().bytes <= World::quick().eager_shm;
  }
};

TEST_P(Cancel, ReceiverDropsAnUnmatchedSend) {
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  EXPECT_EQ(request->error(), nullptr);
  Engine::release(request);
  EXPECT_FALSE(*world.engine(1).iprobe(*contexts[1], 0, 3));
  // the next send is not affected
  sent = pattern(GetParam().bytes, 2);
  Request* next = send();
  Request* got = receive();
  ASSERT_TRUE(ends(next) && ends(got));
  EXPECT_EQ(received, sent);
  Engine::release(next);
  Engine::release(got);
}

TEST_P(Cancel, MatchedSendCompletes) {
  Request* got = receive();
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request) && ends(got));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(received, sent);
  Engine::release(request);
  Engine::release(got);
}

TEST_P(Cancel, MessageOfAMatchedProbeIsMatched) {
  Request* request = send();
  std::optional<Engine::Matched> taken;
  ASSERT_TRUE(world.step_until(
      [&] { return (taken = *world.engine(1).improbe(*contexts[1], 0, 3)).has_value(); }));
  ASSERT_TRUE(Engine::cancel(*request));
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_EQ(request->is_done(), completes_at_once());
  Request* got = value_of(world.engine(1).imrecv(taken->message, into(received)));
  ASSERT_TRUE(ends(request) && ends(got));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(received, sent);
  Engine::release(request);
  Engine::release(got);
}

TEST_P(Cancel, CancelsOnlyTheGivenSend) {
  Request* first = send();
  Request* second = send();
  ASSERT_TRUE(Engine::cancel(*second));
  ASSERT_TRUE(Engine::cancel(*second)) << "a second cancellation has no effect";
  ASSERT_TRUE(ends(second));
  EXPECT_TRUE(second->outcome().cancelled);
  EXPECT_EQ(first->is_done(), completes_at_once());
  Request* got = receive();
  ASSERT_TRUE(ends(first) && ends(got));
  EXPECT_EQ(received, sent);
  for (Request* request : {first, second, got}) Engine::release(request);
}

TEST_P(Cancel, WorksBeforeTheReceiverHasTheCommunicator) {
  auto early = world.context(0, {}, 500);
  Request* request = value_of(world.engine(0).isend(*early, from(sent), 1, 3, GetParam().mode));
  Request* other = value_of(world.engine(0).isend(*early, from(sent), 1, 4, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  auto late = world.context(1, {}, 500);
  EXPECT_FALSE(*world.engine(1).iprobe(*late, 0, 3));
  Request* got = value_of(world.engine(1).irecv(*late, into(received), 0, 4));
  ASSERT_TRUE(ends(other) && ends(got));
  EXPECT_EQ(received, sent);
  for (Request* each : {request, other, got}) Engine::release(each);
}

TEST_P(Cancel, WorksAfterTheSenderHasFreedTheCommunicator) {
  Request* request = send();
  contexts[0].reset();
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  Engine::release(request);
}

TEST_P(Cancel, SendToSelfIsDecidedInTheCall) {
  Engine& own = world.engine(0);
  Request* unmatched = value_of(own.isend(*contexts[0], from(sent), 0, 3, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*unmatched));
  EXPECT_TRUE(unmatched->is_done() && unmatched->outcome().cancelled);
  EXPECT_FALSE(*own.iprobe(*contexts[0], 0, 3));
  Request* got = value_of(own.irecv(*contexts[0], into(received), 0, 3));
  Request* matched = value_of(own.isend(*contexts[0], from(sent), 0, 3, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*matched));
  ASSERT_TRUE(ends(matched) && ends(got));
  EXPECT_FALSE(matched->outcome().cancelled);
  EXPECT_EQ(received, sent);
  for (Request* each : {unmatched, matched, got}) Engine::release(each);
}

TEST_P(Cancel, RequestMayBeFreedBeforeTheResponse) {
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  Engine::release(request);
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_FALSE(*world.engine(1).iprobe(*contexts[1], 0, 3));
  EXPECT_TRUE(world.engine(0).flush(base::Deadline::after_seconds(5)));
}

TEST_P(Cancel, CancelledPersistentSendCanBeStartedAgain) {
  Request* request = value_of(
      world.engine(0).send_init(*contexts[0], from(sent), 1, 3, GetParam().mode));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(Engine::start(*request));
    ASSERT_TRUE(Engine::cancel(*request));
    ASSERT_TRUE(ends(request));
    EXPECT_TRUE(request->outcome().cancelled);
    Engine::deactivate(*request);
  }
  ASSERT_TRUE(Engine::start(*request));
  Request* got = receive();
  ASSERT_TRUE(ends(request) && ends(got));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(received, sent);
  Engine::release(request);
  Engine::release(got);
}

TEST_P(Cancel, WorksForASendToSelf) {
  Request* request = value_of(
      world.engine(0).isend(*contexts[0], from(sent), 0, 3, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  Engine::release(request);
}

INSTANTIATE_TEST_SUITE_P(Sends, Cancel,
                         testing::Values(How{0, SendMode::synchronous},
                                         How{100, SendMode::synchronous},
                                         How{50'000, SendMode::synchronous},
                                         How{0, SendMode::standard}, How{100, SendMode::standard},
                                         How{100, SendMode::ready},
                                         How{50'000, SendMode::standard}));

/// Sends that completed because their message had left.
class CancelCompletedSend : public testing::Test {
 protected:
  World world{{.processes = 2}};
  std::vector<ContextPtr> contexts = world.contexts();
  Data sent = pattern(100, 1);

  Request* send() {
    return value_of(world.engine(0).isend(*contexts[0], from(sent), 1, 3, SendMode::standard));
  }
  void expect_not_cancelled(Request* request) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    EXPECT_FALSE(request->outcome().cancelled);
    EXPECT_EQ(request->error(), nullptr);
    Engine::release(request);
  }
};

TEST_F(CancelCompletedSend, IsIncompleteUntilTheReceiverResponds) {
  Request* request = send();
  EXPECT_TRUE(request->is_done());
  ASSERT_TRUE(Engine::cancel(*request));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world.engine(0).progress());
  EXPECT_FALSE(request->is_done());
  ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
  EXPECT_TRUE(request->outcome().cancelled);
  Engine::release(request);
}

TEST_F(CancelCompletedSend, FailsIfTheReceiverHasFreedTheCommunicator) {
  Request* request = send();
  ASSERT_TRUE(
      world.step_until([&] { return world.engine(1).iprobe(*contexts[1], 0, 3)->has_value(); }));
  contexts[1].reset();
  ASSERT_TRUE(Engine::cancel(*request));
  expect_not_cancelled(request);
}

TEST_F(CancelCompletedSend, FailsIfTheReceiverDiesMeanwhile) {
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  world.kill(1);
  ASSERT_TRUE(world.engine(0).wait(*request));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(request->error(), nullptr) << "the send had completed";
  Engine::release(request);
}

TEST_F(CancelCompletedSend, FailsIfTheReceiverHasDied) {
  Request* request = send();
  world.kill(1);
  world.engine(0).reset_peer({0, 1}, base::Error(base::ErrorClass::proc_aborted, "killed"));
  ASSERT_TRUE(Engine::cancel(*request));
  EXPECT_TRUE(request->is_done());
  EXPECT_FALSE(request->outcome().cancelled);
  Engine::release(request);
}

TEST_F(CancelCompletedSend, FailsIfTheReceiverAcceptsNoPackets) {
  Request* request = send();
  world.receives_packets(1) = false;
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(world.engine(0).wait(*request));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(request->error(), nullptr);
  Engine::release(request);
}

TEST_F(CancelCompletedSend, CompletesIfNothingWasSent) {
  Request* request = value_of(
      world.engine(0).isend(*contexts[0], from(sent), kProcNull, 3, SendMode::standard));
  ASSERT_TRUE(Engine::cancel(*request));
  EXPECT_TRUE(request->is_done());
  Engine::release(request);
  request = value_of(world.engine(0).send_init(*contexts[0], from(sent), 1, 3, SendMode::standard));
  ASSERT_TRUE(Engine::cancel(*request)) << "an inactive persistent send";
  EXPECT_TRUE(request->is_done());
  Engine::release(request);
}

/// Random sends, receives and cancellations, compared with a list: each message is either received
/// once or cancelled.
TEST(CancelMany, EachMessageIsReceivedOrCancelled) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    World world{{.processes = 2}};
    auto contexts = world.contexts();
    std::mt19937 random(seed);
    std::vector<Request*> sends, receives;
    std::vector<Data> messages(40);
    std::deque<Data> buffers;
    for (auto& message : messages) {
      message = Data(random() % 3 == 0 ? 3000 : 20);
      message[0] = static_cast<std::uint8_t>(sends.size());
      SendMode mode = random() % 4 == 0 ? SendMode::synchronous : SendMode::standard;
      sends.push_back(value_of(world.engine(0).isend(*contexts[0], from(message), 1,
                                                     static_cast<int>(random() % 3), mode)));
      for (unsigned steps = random() % 3; steps != 0; --steps) world.step();
      if (random() % 2 == 0) {
        receives.push_back(nullptr);
        buffers.emplace_back(3000);
        receives.back() = value_of(
            world.engine(1).irecv(*contexts[1], into(buffers.back()), 0, kAnyTag));
      }
      if (random() % 2 == 0) {
        ASSERT_TRUE(Engine::cancel(*sends[random() % sends.size()]));
      }
    }
    while (true) {  // receives the messages that were not cancelled
      for (int i = 0; i < 1000; ++i) world.step();
      if (!world.engine(1).iprobe(*contexts[1], 0, kAnyTag)->has_value()) break;
      buffers.emplace_back(3000);
      receives.push_back(
          value_of(world.engine(1).irecv(*contexts[1], into(buffers.back()), 0, kAnyTag)));
    }
    std::vector<int> received(sends.size());
    for (std::size_t i = 0; i < receives.size(); ++i) {
      ASSERT_TRUE(Engine::cancel(*receives[i]));
      if (!receives[i]->outcome().cancelled) ++received[buffers[i][0]];
      Engine::release(receives[i]);
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_TRUE(sends[i]->is_done()) << "seed " << seed << ", message " << i;
      EXPECT_EQ(received[i], sends[i]->outcome().cancelled ? 0 : 1)
          << "seed " << seed << ", message " << i;
      Engine::release(sends[i]);
    }
  }
}

}  // namespace
}  // namespace shim::p2p
