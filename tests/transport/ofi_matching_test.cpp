// SPDX-License-Identifier: BSD-3-Clause
// What a provider of libfabric matches, below the owner's protocols (those: tests/p2p/below_ofi_test.cpp).
#include <gtest/gtest.h>
#include <sched.h>

#include "shim/base/clock.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/ofi/wire.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

/// What has become of receives, and what came without one.
struct Told final : Sink {
  bool on_packet(ConstSpan packet) override {
    gathered.emplace_back(packet.begin(), packet.end());
    return true;
  }
  void on_matched(MatchedReceive& receive, ConstSpan packet) override { matched.emplace_back(&receive, Bytes(packet.begin(), packet.end())); }
  void on_withdrawn(MatchedReceive& receive) override { withdrawn.push_back(&receive); }

  std::vector<Bytes> gathered;
  std::vector<std::pair<MatchedReceive*, Bytes>> matched;
  std::vector<MatchedReceive*> withdrawn;
};

class OfiMatching : public ::testing::Test {
 protected:
  static constexpr Envelope kMessage{std::uint64_t{5} << 32 | 2, 1, 3};

  static std::unique_ptr<Transport> make() {
    auto made = make_ofi({.provider = "sockets", .interface = "lo", .matching = true});
    EXPECT_TRUE(made && (*made)->matcher());
    return *std::move(made);
  }
  void poll_until(const std::function<bool()>& condition) {
    const auto deadline = base::Deadline::after_seconds(30);
    while (!condition()) {
      EXPECT_TRUE(here->poll(told));
      EXPECT_TRUE(there->poll(nothing));
      sched_yield();
      ASSERT_FALSE(deadline.passed());
    }
  }
  void send(Transport& from, Link& to, const Envelope& message, const Bytes& bytes) {
    poll_until([&] { return *from.matcher()->try_send(to, message, bytes, {}) == Attempt::done; });
  }

  std::unique_ptr<Transport> here = make(), there = make();
  Told told, nothing;
  Link* from = *here->open(there->address());
  Link* to = *there->open(here->address());
  const Bytes sent = body_of(1, 500);
};

TEST_F(OfiMatching, AStrangersMessageIsDroppedAndItsReceiveGoesOn) {
  MatchedReceive receive;
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  OfiAddress address = *OfiAddress::from_bytes(here->address());
  ++address.cookie;
  Link& guessed = **there->open(address.to_bytes());
  send(*there, guessed, kMessage, body_of(2, 500));
  poll_until([&] { return here->counts().packets_refused >= 2; });  // its introduction, and this
  EXPECT_TRUE(told.matched.empty());
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !told.matched.empty(); });
  EXPECT_EQ(told.matched.front().first, &receive);
  EXPECT_EQ(told.matched.front().second, sent);
}

TEST_F(OfiMatching, NoReceiveIsTakenWhileMessagesAreGathered) {
  MatchedReceive receive;
  here->matcher()->gather(true);
  EXPECT_TRUE(here->matcher()->is_gathering());
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::again);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !told.gathered.empty(); });
  EXPECT_EQ(told.gathered.front(), sent);
  here->matcher()->gather(false);
  poll_until([&] { return !here->matcher()->is_gathering(); });
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  here->matcher()->withdraw(receive);
  poll_until([&] { return !told.withdrawn.empty(); });
}

TEST_F(OfiMatching, AMessageForAForgottenReceiveIsGathered) {
  auto receive = std::make_unique<MatchedReceive>();
  ASSERT_EQ(*here->matcher()->post(*receive, *from, kMessage), Attempt::done);
  here->matcher()->forget(*receive);
  receive.reset();
  send(*there, *to, kMessage, sent);
  const std::uint64_t sweep = here->matcher()->begin_sweep();
  here->matcher()->gather(true);
  poll_until([&] { return here->matcher()->sweeps() >= sweep && !told.gathered.empty(); });
  EXPECT_EQ(told.gathered.front(), sent);
  EXPECT_TRUE(told.matched.empty() && told.withdrawn.empty());
}

TEST_F(OfiMatching, ThereIsRoomForSoManyReceivesAndForTheOneThatAcceptsAll) {
  std::vector<MatchedReceive> receives(here->matcher()->room() + 1);
  for (MatchedReceive& receive : receives) {
    const Attempt expected = &receive == &receives.back() ? Attempt::again : Attempt::done;
    EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), expected);
  }
  EXPECT_EQ(here->matcher()->room(), 0u);
  here->matcher()->gather(true);
  EXPECT_TRUE(here->matcher()->is_gathering());
  for (MatchedReceive& receive : receives) here->matcher()->forget(receive);
}

}  // namespace
}  // namespace shim::transport::testing
