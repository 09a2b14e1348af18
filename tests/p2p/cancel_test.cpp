// SPDX-License-Identifier: BSD-3-Clause
// Sends that are taken back.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

struct How {
  std::size_t bytes;
  Mode mode;
};

/// Those that expect an answer: long ones, and synchronous ones of any length.
class Cancel : public testing::TestWithParam<How> {
 protected:
  World world{{.processes = 2}};
  std::vector<ContextPtr> contexts = world.contexts();
  Data sent = pattern(GetParam().bytes, 1), received = Data(GetParam().bytes);

  Request* send(int tag = 3) { return value_of(world.engine(0).isend(*contexts[0], from(sent), 1, tag, GetParam().mode)); }
  Request* receive(int tag = 3) { return value_of(world.engine(1).irecv(*contexts[1], into(received), 0, tag)); }
  bool ends(const Request* request) {
    return world.step_until([&] { return request->is_done(); });
  }
};

TEST_P(Cancel, AnUnmatchedSendIsForgottenByItsReceiver) {
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  EXPECT_EQ(request->error(), nullptr);
  Engine::release(request);
  EXPECT_FALSE(*world.engine(1).iprobe(*contexts[1], 0, 3));
  // the next one is another message
  sent = pattern(GetParam().bytes, 2);
  Request* next = send();
  Request* got = receive();
  ASSERT_TRUE(ends(next) && ends(got));
  EXPECT_EQ(received, sent);
  Engine::release(next);
  Engine::release(got);
}

TEST_P(Cancel, AMatchedSendGoesOnToItsEnd) {
  Request* got = receive();
  Request* request = send();
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request) && ends(got));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(received, sent);
  Engine::release(request);
  Engine::release(got);
}

TEST_P(Cancel, AMessageThatAProbeHasTakenIsMatched) {
  Request* request = send();
  std::optional<Engine::Matched> taken;
  ASSERT_TRUE(world.step_until([&] { return (taken = *world.engine(1).improbe(*contexts[1], 0, 3)).has_value(); }));
  ASSERT_TRUE(Engine::cancel(*request));
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_FALSE(request->is_done());
  Request* got = value_of(world.engine(1).imrecv(taken->message, into(received)));
  ASSERT_TRUE(ends(request) && ends(got));
  EXPECT_FALSE(request->outcome().cancelled);
  EXPECT_EQ(received, sent);
  Engine::release(request);
  Engine::release(got);
}

TEST_P(Cancel, OneAmongOthersOfItsTag) {
  Request* first = send();
  Request* second = send();
  ASSERT_TRUE(Engine::cancel(*second));
  ASSERT_TRUE(Engine::cancel(*second)) << "once more changes nothing";
  ASSERT_TRUE(ends(second));
  EXPECT_TRUE(second->outcome().cancelled);
  EXPECT_FALSE(first->is_done());
  Request* got = receive();
  ASSERT_TRUE(ends(first) && ends(got));
  EXPECT_EQ(received, sent);
  for (Request* request : {first, second, got}) Engine::release(request);
}

TEST_P(Cancel, BeforeTheReceiverHasMadeItsCommunicator) {
  auto early = world.context(0, {}, 500);
  Request* request = value_of(world.engine(0).isend(*early, from(sent), 1, 3, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*request));
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_FALSE(request->is_done());
  auto late = world.context(1, {}, 500);
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  EXPECT_FALSE(*world.engine(1).iprobe(*late, 0, 3));
  Engine::release(request);
}

TEST_P(Cancel, APersistentOneIsThereAtTheNextStart) {
  Request* request = value_of(world.engine(0).send_init(*contexts[0], from(sent), 1, 3, GetParam().mode));
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

TEST_P(Cancel, ToOneself) {
  Request* request = value_of(world.engine(0).isend(*contexts[0], from(sent), 0, 3, GetParam().mode));
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(ends(request));
  EXPECT_TRUE(request->outcome().cancelled);
  Engine::release(request);
}

INSTANTIATE_TEST_SUITE_P(Sends, Cancel,
                         testing::Values(How{0, Mode::synchronous}, How{100, Mode::synchronous}, How{50'000, Mode::synchronous},
                                         How{50'000, Mode::standard}));

TEST(CancelAtOnce, AMessageThatHasLeftIsOver) {
  World world{{.processes = 2}};
  auto contexts = world.contexts();
  Data sent = pattern(100, 1);
  Request* request = value_of(world.engine(0).isend(*contexts[0], from(sent), 1, 3, Mode::standard));
  ASSERT_TRUE(Engine::cancel(*request));
  ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
  EXPECT_FALSE(request->outcome().cancelled);
  Engine::release(request);
  EXPECT_TRUE(world.step_until([&] { return world.engine(1).iprobe(*contexts[1], 0, 3)->has_value(); }));
}

}  // namespace
}  // namespace shim::p2p
