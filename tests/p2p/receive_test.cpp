// SPDX-License-Identifier: BSD-3-Clause
// What a receive can meet besides the message it waits for.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;

class Receive : public testing::Test, protected TwoEngines {
 protected:
  Request* send(const Data& data, int tag, Mode mode = Mode::standard, Plane plane = Plane::user) {
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

TEST_F(Receive, TooShortABufferIsFilledAndReported) {
  for (std::size_t bytes : {100u, 50'000u}) {
    for (auto reads : {true, false}) {
      auto settings = World::quick();
      settings.single_copy = reads;
      World own{{.processes = 2, .settings = settings}};
      auto both = own.contexts();
      Data sent = pattern(bytes, 1), received(bytes);
      types::Buffer half{received.data(), bytes / 2, &kByte};
      Request* receive = value_of(own.engine(1).irecv(*both[1], half, 0, 3));
      Request* send = value_of(own.engine(0).isend(*both[0], from(sent), 1, 3, Mode::standard));
      ASSERT_TRUE(own.step_until([&] { return send->is_done() && receive->is_done(); }));
      EXPECT_EQ(send->error(), nullptr);
      ASSERT_NE(receive->error(), nullptr);
      EXPECT_EQ(receive->error()->error_class(), ErrorClass::truncate);
      EXPECT_EQ(receive->outcome().error, ErrorClass::truncate);
      EXPECT_EQ(receive->outcome().bytes, bytes / 2);
      EXPECT_EQ(receive->outcome().source, 0);
      EXPECT_TRUE(std::equal(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(bytes / 2), sent.begin()));
      EXPECT_EQ(received[bytes / 2], 0) << "wrote behind the buffer";
      own.engine(0).release(send);
      own.engine(1).release(receive);
    }
  }
}

// What is not too long goes packet by packet where both do nothing else; where one of them may be elsewhere it is read, and so it is where the
// sender's core is another's as well.
TEST(Streams, AreForTwoThatWait) {
  for (const bool is_crowded : {false, true}) {
    World world({.processes = 2, .settings = World::quick()});
    auto contexts = world.contexts();
    world.engine(0).set_crowded(is_crowded);
    world.run([&](int rank) {  // who has never sent anything there does not know the way to the sender
      Data one(1);
      Engine& engine = world.engine(rank);
      Context& context = *contexts[static_cast<std::size_t>(rank)];
      if (rank == 0) ASSERT_TRUE(engine.recv(context, into(one), 1, 3));
      else ASSERT_TRUE(engine.send(context, from(one), 0, 3, Mode::standard));
    });
    struct Case {
      std::size_t bytes;
      bool sender_waits, receiver_waits, is_read;
    };
    for (const auto& [bytes, sender_waits, receiver_waits, is_read] :
         {Case{5'000, true, true, false}, Case{256 * 1024, true, true, false}, Case{256 * 1024 + 1, true, true, true}, Case{5'000, false, true, true},
          Case{5'000, true, false, true}}) {
      SCOPED_TRACE(std::to_string(bytes) + (sender_waits ? " bytes, sender waits" : " bytes") + (receiver_waits ? ", receiver waits" : "") +
                   (is_crowded ? ", crowded" : ""));
      const std::uint64_t before = world.engine(1).counts().single_copies;
      const Data sent = pattern(bytes, 3);
      world.run([&, bytes = bytes, sender_waits = sender_waits, receiver_waits = receiver_waits](int rank) {
        Engine& engine = world.engine(rank);
        Context& context = *contexts[static_cast<std::size_t>(rank)];
        Data received(bytes);
        Request* request = nullptr;
        if (rank == 0 && sender_waits) ASSERT_TRUE(engine.send(context, from(sent), 1, 3, Mode::standard));
        else if (rank == 0) request = value_of(engine.isend(context, from(sent), 1, 3, Mode::standard));
        else if (receiver_waits) ASSERT_TRUE(engine.recv(context, into(received), 0, 3));
        else request = value_of(engine.irecv(context, into(received), 0, 3));
        if (request != nullptr) {
          ASSERT_TRUE(engine.wait(*request));
          engine.release(request);
        }
        if (rank == 1) {
          ASSERT_EQ(received, sent);
        }
      });
      EXPECT_EQ(world.engine(1).counts().single_copies - before, is_read || is_crowded ? 1u : 0u);
    }
  }
}

TEST_F(Receive, IntoNothing) {
  Data sent = pattern(50'000, 1), none;
  Request* got = receive(none, 0, 3);
  Request* gave = send(sent, 3);
  ASSERT_TRUE(world.step_until([&] { return gave->is_done() && got->is_done(); }));
  EXPECT_EQ(got->error()->error_class(), ErrorClass::truncate);
  finish(gave, got);
}

TEST_F(Receive, NullRankIsDoneAtOnce) {
  Data data(8);
  auto none = value_of(receiver.recv(*contexts[1], into(data), kProcNull, 3));
  EXPECT_EQ(none.source, kProcNull);
  EXPECT_EQ(none.tag, kAnyTag);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_TRUE(sender.send(*contexts[0], from(data), kProcNull, 3, Mode::synchronous));
  for (Request* request : {value_of(sender.isend(*contexts[0], from(data), kProcNull, 3, Mode::synchronous)),
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

TEST_F(Receive, CancelTakesBackWhatHasNotMatched) {
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

TEST_F(Receive, CancelComesTooLateForAMatchedOne) {
  Data sent = pattern(8, 1), data(8);
  Request* gave = send(sent, 3);
  Request* got = receive(data, 0, 3);
  ASSERT_TRUE(world.step_until([&] { return got->is_done(); }));
  ASSERT_TRUE(receiver.cancel(*got));
  EXPECT_FALSE(got->outcome().cancelled);
  EXPECT_EQ(data, sent);
  finish(gave, got);
}

TEST_F(Receive, PlanesDoNotMix) {
  Data user = pattern(8, 1), collective = pattern(8, 2), got_user(8), got_collective(8);
  Request* gave_collective = send(collective, 3, Mode::standard, Plane::collective);
  Request* gave_user = send(user, 3);
  Request* want_user = receive(got_user, kAnySource, kAnyTag);
  Request* want_collective = receive(got_collective, 0, 3, Plane::collective);
  finish(gave_user, want_user);
  finish(gave_collective, want_collective);
  EXPECT_EQ(got_user, user);
  EXPECT_EQ(got_collective, collective);
  EXPECT_FALSE(value_of(receiver.iprobe(*contexts[1], kAnySource, kAnyTag)));
}

TEST_F(Receive, ToOneself) {
  for (std::size_t bytes : {0u, 8u, 100'000u}) {
    for (Mode mode : {Mode::standard, Mode::synchronous}) {
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

TEST_F(Receive, ReleasedWhileActiveTheyFinishByThemselves) {
  Data sent = pattern(50'000, 1), received(50'000);
  sender.release(send(sent, 3, Mode::synchronous));
  EXPECT_FALSE(sender.flush(base::Deadline::after_seconds(0.01))) << "nobody has received it";
  receiver.release(receive(received, 0, 3));
  ASSERT_TRUE(world.step_until([&] { return received == sent; }));
  EXPECT_TRUE(sender.flush(base::Deadline::after_seconds(10)));
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
