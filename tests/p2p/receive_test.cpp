// SPDX-License-Identifier: BSD-3-Clause
// Tests receives: truncation, streaming, cancellation, null rank, planes and released requests.
#include <thread>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class Receive : public testing::Test, protected TwoEngines {
 protected:
  Request* send(const Data& data, int tag, SendMode mode = SendMode::standard,
                Plane plane = Plane::user) {
    return value_of(sender.isend(*contexts[0], from(data), 1, tag, mode, plane));
  }
  Request* receive(Data& data, int source, int tag, Plane plane = Plane::user) {
    return value_of(receiver.irecv(*contexts[1], into(data), source, tag, plane));
  }
  void finish(Request* send, Request* receive) {
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    sender.release(send);
    receiver.release(receive);
  }
};

TEST_F(Receive, TooShortBufferIsFilledAndReported) {
  for (std::size_t bytes : {100u, 50'000u}) {
    for (auto reads : {true, false}) {
      auto settings = World::quick();
      settings.single_copy = reads;
      World own{{.processes = 2, .settings = settings}};
      auto both = own.contexts();
      Data sent = pattern(bytes, 1), received(bytes);
      types::Buffer half{received.data(), bytes / 2, &kByte};
      Request* receive = value_of(own.engine(1).irecv(*both[1], half, 0, 3));
      Request* send = value_of(own.engine(0).isend(*both[0], from(sent), 1, 3, SendMode::standard));
      ASSERT_TRUE(own.step_until([&] { return send->is_done() && receive->is_done(); }));
      EXPECT_EQ(send->error(), nullptr);
      ASSERT_NE(receive->error(), nullptr);
      EXPECT_EQ(receive->error()->error_class(), ErrorClass::truncate);
      EXPECT_EQ(receive->outcome().error, ErrorClass::truncate);
      EXPECT_EQ(receive->outcome().bytes, bytes / 2);
      EXPECT_EQ(receive->outcome().source, 0);
      EXPECT_TRUE(std::equal(received.begin(),
                             received.begin() + static_cast<std::ptrdiff_t>(bytes / 2),
                             sent.begin()));
      EXPECT_EQ(received[bytes / 2], 0) << "the receive wrote past the end of the buffer";
      own.engine(0).release(send);
      own.engine(1).release(receive);
    }
  }
}

// Messages up to a limit are streamed packet by packet if both processes wait for them. If one of
// the processes may do other work meanwhile, then the receiver reads the message from the sender's
// memory.
class Streams : public ::testing::Test {
 protected:
  static constexpr std::size_t kForEach = 100'000,
                               kAll = 300'000;  // bytes, as the transport's stream budget
  struct Case {
    std::size_t bytes;
    Caller sender = Caller::waits, receiver = Caller::waits;
    Plane plane = Plane::user;
  };

  void is_streamed(const Case& tried, int line = __builtin_LINE()) {
    EXPECT_EQ(reads_in(tried), 0u) << tried.bytes << " bytes, line " << line;
  }
  void is_read(const Case& tried, int line = __builtin_LINE()) {
    EXPECT_EQ(reads_in(tried), 1u) << tried.bytes << " bytes, line " << line;
  }
  void use(transport::StreamBudget budget, bool is_oversubscribed) {
    contexts_.clear();
    world_.emplace(World::Options{.processes = 2, .faults = {.stream_budget = budget}});
    contexts_ = world_->contexts();
    world_->engine(0).set_oversubscribed(is_oversubscribed);
    world_->run([&](int rank) {  // the receiver opens its link to the sender with its first send
      Data one(1);
      if (rank == 0)
        ASSERT_TRUE(world_->engine(0).recv(*contexts_[0], into(one), 1, 3));
      else
        ASSERT_TRUE(world_->engine(1).send(*contexts_[1], from(one), 0, 3, SendMode::standard));
    });
  }

 private:
  std::uint64_t reads_in(const Case& tried) {
    const auto& [bytes, sender, receiver, plane] = tried;
    const std::uint64_t before = world_->engine(1).counts().single_copies;
    const Data sent = pattern(bytes, 3);
    world_->run([&, sender = sender, receiver = receiver, plane = plane](int rank) {
      Engine& engine = world_->engine(rank);
      Context& context = *contexts_[static_cast<std::size_t>(rank)];
      Data received(rank == 1 ? sent.size() : 0);
      Request* request = nullptr;
      if (rank == 0 && sender == Caller::waits)
        ASSERT_TRUE(engine.send(context, from(sent), 1, 3, SendMode::standard, plane));
      else if (rank == 0)
        request = value_of(engine.send_or_start(context, from(sent), 1, 3, plane, sender));
      else if (receiver == Caller::waits)
        ASSERT_TRUE(engine.recv(context, into(received), 0, 3, plane));
      else
        request = value_of(engine.irecv(context, into(received), 0, 3, plane, receiver));
      if (request != nullptr) {
        ASSERT_TRUE(engine.wait(*request));
        engine.release(request);
      }
      if (rank == 1) {
        ASSERT_EQ(received, sent);
      }
    });
    return world_->engine(1).counts().single_copies - before;
  }
  std::optional<World> world_;
  std::vector<ContextPtr> contexts_;
};

TEST_F(Streams, NeedBothProcessesToWait) {
  for (const bool is_oversubscribed : {false, true}) {
    use({kAll, kForEach}, is_oversubscribed);
    is_streamed({50'000});
    is_read({50'000, Caller::returns_at_once});
    is_read({50'000, Caller::waits, Caller::returns_at_once});
    is_read({50'000, Caller::waits_for_several, Caller::returns_at_once});
    is_streamed({50'000, Caller::waits_for_several});
    is_streamed({50'000, Caller::waits, Caller::waits_for_several});
  }
}

TEST_F(Streams, OfOneMessageUseTheWholeBudgetIfUndersubscribed) {
  use({kAll, kForEach}, false);
  is_streamed({5'000});
  is_streamed({kAll});
  is_read({kAll + 1});
  is_streamed({256 * 1024, Caller::waits, Caller::waits, Plane::collective});
  is_read({256 * 1024 + 1, Caller::waits, Caller::waits, Plane::collective});
  use({}, false);
  is_streamed({256 * 1024});
  is_read({256 * 1024 + 1});
}

TEST_F(Streams, OfOneMessageAreForMediumSizesIfOversubscribed) {
  use({kAll, kForEach}, true);
  is_read({32 * 1024 - 1});
  is_streamed({32 * 1024 - 1, Caller::waits, Caller::waits, Plane::collective});
  is_streamed({32 * 1024});
  is_streamed({kForEach});
  is_read({kForEach + 1});
  is_read({kForEach + 1, Caller::waits, Caller::waits, Plane::collective});
  use({}, true);
  is_read({50'000});
}

TEST_F(Streams, OfSeveralMessagesShareTheBudget) {
  for (const bool is_oversubscribed : {false, true}) {
    use({kAll, kForEach}, is_oversubscribed);
    is_streamed({5'000, Caller::waits_for_several, Caller::waits_for_several});
    is_streamed({kForEach, Caller::waits_for_several, Caller::waits_for_several});
    is_read({kForEach + 1, Caller::waits_for_several, Caller::waits_for_several});
  }
  use({}, false);
  is_read({5'000, Caller::waits_for_several, Caller::waits_for_several});
}

TEST_F(Receive, EmptyBufferTruncates) {
  Data sent = pattern(50'000, 1), none;
  Request* got = receive(none, 0, 3);
  Request* gave = send(sent, 3);
  ASSERT_TRUE(world.step_until([&] { return gave->is_done() && got->is_done(); }));
  EXPECT_EQ(got->error()->error_class(), ErrorClass::truncate);
  finish(gave, got);
}

TEST_F(Receive, NullRankCompletesAtOnce) {
  Data data(8);
  auto none = value_of(receiver.recv(*contexts[1], into(data), kProcNull, 3));
  EXPECT_EQ(none.source, kProcNull);
  EXPECT_EQ(none.tag, kAnyTag);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_TRUE(sender.send(*contexts[0], from(data), kProcNull, 3, SendMode::synchronous));
  for (Request* request :
       {value_of(sender.isend(*contexts[0], from(data), kProcNull, 3, SendMode::synchronous)),
        value_of(sender.isend_copied(*contexts[0], from(data), kProcNull, 3)),
        value_of(sender.irecv(*contexts[0], into(data), kProcNull, 3))}) {
    EXPECT_TRUE(request->is_done());
    sender.release(request);
  }
  EXPECT_EQ(value_of(receiver.iprobe(*contexts[1], kProcNull, 0))->source, kProcNull);
  EXPECT_EQ(value_of(receiver.probe(*contexts[1], kProcNull, 0)).source, kProcNull);
  EXPECT_EQ(value_of(receiver.mprobe(*contexts[1], kProcNull, 0)).message, nullptr);
  EXPECT_EQ(value_of(receiver.mrecv(nullptr, into(data))).source, kProcNull);
}

TEST_F(Receive, CancelRemovesAnUnmatchedReceive) {
  Data first(8), second(8);
  Request* early = receive(first, 0, 3);
  Request* late = receive(second, 0, 3);
  ASSERT_TRUE(receiver.cancel(*early));
  ASSERT_TRUE(early->is_done());
  EXPECT_TRUE(early->outcome().cancelled);
  Data sent = pattern(8, 1);
  finish(send(sent, 3), late);
  EXPECT_EQ(second, sent);
  receiver.release(early);
}

TEST_F(Receive, CancelHasNoEffectOnAMatchedReceive) {
  Data sent = pattern(8, 1), data(8);
  Request* gave = send(sent, 3);
  Request* got = receive(data, 0, 3);
  ASSERT_TRUE(world.step_until([&] { return got->is_done(); }));
  ASSERT_TRUE(receiver.cancel(*got));
  EXPECT_FALSE(got->outcome().cancelled);
  EXPECT_EQ(data, sent);
  finish(gave, got);
}

TEST_F(Receive, PlanesAreMatchedSeparately) {
  Data user = pattern(8, 1), collective = pattern(8, 2), got_user(8), got_collective(8);
  Request* gave_collective = send(collective, 3, SendMode::standard, Plane::collective);
  Request* gave_user = send(user, 3);
  Request* want_user = receive(got_user, kAnySource, kAnyTag);
  Request* want_collective = receive(got_collective, 0, 3, Plane::collective);
  finish(gave_user, want_user);
  finish(gave_collective, want_collective);
  EXPECT_EQ(got_user, user);
  EXPECT_EQ(got_collective, collective);
  EXPECT_FALSE(value_of(receiver.iprobe(*contexts[1], kAnySource, kAnyTag)));
}

TEST_F(Receive, ReceivesFromSelf) {
  for (std::size_t bytes : {0u, 8u, 100'000u}) {
    for (SendMode mode : {SendMode::standard, SendMode::synchronous}) {
      Data sent = pattern(bytes, 4), received(bytes);
      Request* gave = value_of(sender.isend(*contexts[0], from(sent), 0, 1, mode));
      auto outcome = value_of(sender.recv(*contexts[0], into(received), kAnySource, 1));
      EXPECT_EQ(outcome.source, 0);
      EXPECT_EQ(received, sent);
      ASSERT_TRUE(sender.wait(*gave));
      sender.release(gave);
    }
  }
}

TEST_F(Receive, ReleasedActiveRequestsComplete) {
  Data sent = pattern(50'000, 1), received(50'000);
  sender.release(send(sent, 3, SendMode::synchronous));
  EXPECT_FALSE(sender.flush(base::Deadline::after_seconds(0.01)))
      << "the message has not been received";
  receiver.release(receive(received, 0, 3));
  ASSERT_TRUE(world.step_until([&] { return received == sent; }));
  EXPECT_TRUE(sender.flush(base::Deadline::after_seconds(10)));
}

TEST_F(Receive, FlushAllWaitsForReleasedReceives) {
  for (std::size_t bytes : {8u, 50'000u}) {
    Data sent = pattern(bytes, 1), received(bytes);
    receiver.release(receive(received, 0, 3));
    EXPECT_FALSE(receiver.flush_all(base::Deadline::after_seconds(0.01)));
    EXPECT_FALSE(receiver.flush(*contexts[1], base::Deadline::after_seconds(0.01)));
    EXPECT_TRUE(receiver.flush(base::Deadline::after_seconds(10)))
        << "all sends have left, and flush() waits for no receives";
    ContextPtr other = world.context(1, *base::ContextPath{}.child(1));
    EXPECT_TRUE(receiver.flush(*other, base::Deadline::after_seconds(10)))
        << "the receive is on another communicator";
    sender.release(send(sent, 3));
    std::thread sending([&] { EXPECT_TRUE(sender.flush(base::Deadline::after_seconds(10))); });
    EXPECT_TRUE(receiver.flush_all(base::Deadline::after_seconds(10)));
    sending.join();
    EXPECT_EQ(received, sent);
  }
}

TEST_F(Receive, FlushAllDoesNotWaitForReceivesThatCannotMatch) {
  Data data(8);
  receiver.release(value_of(receiver.irecv(*contexts[1], into(data), 1, 3)));
  EXPECT_TRUE(receiver.flush_all(base::Deadline::after_seconds(10)))
      << "only this process could send the message";
  receiver.release(receive(data, 0, 3));
  world.kill(0);
  EXPECT_TRUE(receiver.flush_all(base::Deadline::after_seconds(10))) << "its sender is dead";
}

TEST_F(Receive, CopiedSendsFreeTheBufferAtOnce) {
  for (std::size_t bytes : {8u, 50'000u}) {
    Data sent = pattern(bytes, 1), received(bytes);
    const Data kept = sent;
    Request* gave = value_of(sender.isend_copied(*contexts[0], from(sent), 1, 3));
    std::fill(sent.begin(), sent.end(), std::uint8_t{0});
    finish(gave, receive(received, 0, 3));
    EXPECT_EQ(received, kept);
  }
}

}  // namespace
}  // namespace shim::p2p
