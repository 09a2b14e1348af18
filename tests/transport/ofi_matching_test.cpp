// SPDX-License-Identifier: BSD-3-Clause
// What a provider of libfabric matches, below the owner's protocols (those: tests/p2p/below_ofi_test.cpp).
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <optional>

#include "shim/base/clock.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/ofi/wire.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/roomy_network.hpp"
#include "tests/transport/sabotage.hpp"

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
    testing::make_room_for("sockets");
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
  void poll(int times) {
    while (times-- > 0) {
      EXPECT_TRUE(here->poll(told));
      EXPECT_TRUE(there->poll(nothing));
    }
  }
  void send(Transport& sender, Link& link, const Envelope& message, const Bytes& bytes) {
    poll_until([&] { return *sender.matcher()->try_send(link, message, bytes, {}) == Attempt::done; });
  }
  /// From one who does not know our number, or not rightly.
  void send_as_stranger() {
    OfiAddress address = *OfiAddress::from_bytes(here->address());
    ++address.cookie;
    Link& guessed = **there->open(address.to_bytes());
    const auto refused = here->counts().packets_refused;
    send(*there, guessed, kMessage, body_of(2, 500));
    poll_until([&] { return here->counts().packets_refused >= refused + 2; });  // its introduction, and this
  }

  std::unique_ptr<Transport> here = make(), there = make();
  Told told, nothing;
  Link* from = *here->open(there->address());
  Link* to = *there->open(here->address());
  const Bytes sent = body_of(1, 500);
};

TEST_F(OfiMatching, AStrangersMessageIsDroppedAndItsReceiveIsItsOwnersAgain) {
  MatchedReceive receive;
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  send_as_stranger();
  ASSERT_EQ(told.matched.size(), 1u);
  EXPECT_EQ(told.matched.front().first, &receive);
  EXPECT_TRUE(told.matched.front().second.empty());
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return told.matched.size() == 2; });
  EXPECT_EQ(told.matched.back().second, sent);
}

/// A receive that stayed with the provider, behind the one that accepts all, would never see its message.
TEST_F(OfiMatching, SoIsOneBesideWhichMessagesAreGathered) {
  MatchedReceive receive;
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  here->matcher()->gather(Gathering::all());
  send_as_stranger();
  EXPECT_EQ(told.matched.size(), 1u);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !told.gathered.empty(); });
  EXPECT_EQ(told.gathered.front(), sent);
}

TEST_F(OfiMatching, NoReceiveIsTakenWhileMessagesAreGathered) {
  MatchedReceive receive;
  here->matcher()->gather(Gathering::all());
  EXPECT_TRUE(here->matcher()->is_gathering(kMessage.context));
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::again);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !told.gathered.empty(); });
  EXPECT_EQ(told.gathered.front(), sent);
  here->matcher()->gather(Gathering::nothing());
  poll_until([&] { return !here->matcher()->is_gathering(kMessage.context); });
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  here->matcher()->withdraw(receive);
  poll_until([&] { return !told.withdrawn.empty(); });
}

/// Receives of other contexts are taken meanwhile, and get their messages.
TEST_F(OfiMatching, MessagesOfOneContextAreGatheredAlone) {
  constexpr Envelope kOther{kMessage.context + 1, kMessage.source, kMessage.tag};
  here->matcher()->gather(Gathering::of(kMessage.context));
  EXPECT_TRUE(here->matcher()->is_gathering(kMessage.context));
  EXPECT_FALSE(here->matcher()->is_gathering(kOther.context));
  MatchedReceive receive;
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::again);
  ASSERT_EQ(*here->matcher()->post(receive, *from, kOther), Attempt::done);
  send(*there, *to, kMessage, sent);
  send(*there, *to, kOther, body_of(3, 500));
  send(*there, *to, kOther, body_of(4, 500));
  poll_until([&] { return !told.matched.empty() && !told.gathered.empty(); });
  EXPECT_EQ(told.matched.front().second, body_of(3, 500));
  poll(100);
  EXPECT_EQ(told.gathered, (std::vector<Bytes>{sent}));
  // a sweep takes what is left, and leaves things as they were
  const std::uint64_t sweep = here->matcher()->begin_sweep();
  poll_until([&] { return here->matcher()->sweeps() >= sweep && here->matcher()->is_gathering(kMessage.context); });
  EXPECT_EQ(told.gathered.back(), body_of(4, 500));
  EXPECT_FALSE(here->matcher()->is_gathering(kOther.context));
  here->matcher()->gather(Gathering::all());
  poll_until([&] { return here->matcher()->is_gathering(kOther.context); });
}

TEST_F(OfiMatching, AMessageForAForgottenReceiveIsGathered) {
  auto receive = std::make_unique<MatchedReceive>();
  ASSERT_EQ(*here->matcher()->post(*receive, *from, kMessage), Attempt::done);
  here->matcher()->forget(*receive);
  receive.reset();
  send(*there, *to, kMessage, sent);
  const std::uint64_t sweep = here->matcher()->begin_sweep();
  here->matcher()->gather(Gathering::all());
  poll_until([&] { return here->matcher()->sweeps() >= sweep && !told.gathered.empty(); });
  EXPECT_EQ(told.gathered.front(), sent);
  EXPECT_TRUE(told.matched.empty() && told.withdrawn.empty());
}

/// A provider's memory has no bound of its own.
TEST_F(OfiMatching, WhatNobodyReceivesIsGatheredBeforeThereIsMuchOfIt) {
  constexpr std::size_t kMessages = 1000, kBytes = 8000;
  const auto try_send = [&] { return *there->matcher()->try_send(*to, kMessage, body_of(1, kBytes), {}) == Attempt::done; };
  const auto send_until = [&](std::size_t messages) {
    std::size_t taken = 0;
    poll_until([&] { return (taken += try_send()) == messages; });
  };
  send_until(kMessages);
  EXPECT_GT(told.gathered.size(), kMessages - (std::size_t{2} << 20) / kBytes);
  // who does not look at what comes gets no more than that
  std::size_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    taken += try_send();
    EXPECT_TRUE(there->poll(nothing));
  }
  EXPECT_LT(taken, (std::size_t{2} << 20) / kBytes);
  poll_until(try_send);
}

TEST_F(OfiMatching, ThereIsRoomForSoManyReceivesAndForTheOneThatAcceptsAll) {
  std::vector<MatchedReceive> receives(here->matcher()->room() + 1);
  for (MatchedReceive& receive : receives) {
    const Attempt expected = &receive == &receives.back() ? Attempt::again : Attempt::done;
    EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), expected);
  }
  EXPECT_EQ(here->matcher()->room(), 0u);
  here->matcher()->gather(Gathering::all());
  EXPECT_TRUE(here->matcher()->is_gathering(kMessage.context));
  for (MatchedReceive& receive : receives) here->matcher()->forget(receive);
}

/// The provider refuses what is said, until it is said that it does not.
class OfiMatchingRefusals : public OfiMatching, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kLong = 300;

  ~OfiMatchingRefusals() override {
    here.reset();
    there.reset();
  }
  Attempt post() { return *here->matcher()->post(receive, *from, kMessage); }
  Attempt try_send(std::size_t bytes) { return *there->matcher()->try_send(*to, kMessage, body_of(1, bytes), {}); }

  std::optional<Call> refused;
  const Sabotage::Refusal refusal = [this](Call call) { return call == refused ? -GetParam() : 0; };
  Sabotage sabotage{*here, refusal}, sabotage_there{*there, refusal};
  MatchedReceive receive;
};

TEST_P(OfiMatchingRefusals, OfAReceiveAreSaidAndItIsTakenLater) {
  refused = Call::receive_matched;
  for (int i = 0; i < kLong; ++i) EXPECT_EQ(post(), Attempt::again);
  send(*there, *to, kMessage, sent);
  refused.reset();
  EXPECT_EQ(post(), Attempt::done);
  poll_until([&] { return !told.matched.empty(); });
  EXPECT_EQ(told.matched.front().second, sent);
}

TEST_P(OfiMatchingRefusals, OfTheReceiveThatAcceptsAllPutGatheringOff) {
  refused = Call::receive_matched;
  here->matcher()->gather(Gathering::all());
  const std::uint64_t sweep = here->matcher()->begin_sweep();
  send(*there, *to, kMessage, sent);
  poll(kLong);
  EXPECT_FALSE(here->matcher()->is_gathering(kMessage.context));
  EXPECT_TRUE(told.gathered.empty());
  refused.reset();
  poll_until([&] { return !told.gathered.empty() && here->matcher()->sweeps() >= sweep; });
  EXPECT_EQ(told.gathered.front(), sent);
  // and between two messages
  poll_until([&] { return here->matcher()->is_gathering(kMessage.context); });
  refused = Call::receive_matched;
  send(*there, *to, kMessage, sent);
  send(*there, *to, kMessage, body_of(3, 500));
  poll_until([&] { return told.gathered.size() == 2; });
  poll(kLong);
  EXPECT_EQ(told.gathered.size(), 2u);
  refused.reset();
  poll_until([&] { return told.gathered.size() == 3; });
  EXPECT_EQ(told.gathered.back(), body_of(3, 500));
}

TEST_P(OfiMatchingRefusals, OfASendAreNoFailureHoweverLong) {
  for (auto [call, bytes] : {std::pair{Call::send_matched, std::size_t{5000}}, std::pair{Call::inject_matched, std::size_t{10}}}) {
    ASSERT_EQ(post(), Attempt::done);
    refused = call;
    for (int i = 0; i < kLong; ++i) {
      EXPECT_EQ(try_send(bytes), Attempt::again);
      poll(1);
    }
    refused.reset();
    poll_until([&] { return try_send(bytes) == Attempt::done; });
    poll_until([&] { return !told.matched.empty(); });
    poll(kLong);
    ASSERT_EQ(told.matched.size(), 1u);
    EXPECT_EQ(told.matched.front().second, body_of(1, bytes));
    told.matched.clear();
  }
}

TEST_P(OfiMatchingRefusals, ToGiveReceivesBackAreAskedAgain) {
  ASSERT_EQ(post(), Attempt::done);
  here->matcher()->gather(Gathering::all());
  refused = Call::cancel;
  here->matcher()->withdraw(receive);
  here->matcher()->gather(Gathering::nothing());
  poll(kLong);
  EXPECT_TRUE(told.withdrawn.empty());
  EXPECT_TRUE(here->matcher()->is_gathering(kMessage.context));
  refused.reset();
  poll_until([&] { return !told.withdrawn.empty() && !here->matcher()->is_gathering(kMessage.context); });
  EXPECT_EQ(told.withdrawn, std::vector{&receive});
}

TEST_P(OfiMatchingRefusals, ToGiveOneBackDoNotOutliveIt) {
  ASSERT_EQ(post(), Attempt::done);
  refused = Call::cancel;
  here->matcher()->withdraw(receive);
  send_as_stranger();
  EXPECT_EQ(told.withdrawn, std::vector{&receive}) << "what is no message is not waited out";
  ASSERT_EQ(post(), Attempt::done);
  refused.reset();
  poll(kLong);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !told.matched.empty(); });
}

INSTANTIATE_TEST_SUITE_P(Codes, OfiMatchingRefusals, ::testing::Values(FI_EAGAIN, FI_ENOMEM),
                         [](const auto& test) { return test.param == FI_EAGAIN ? "again" : "no_memory"; });

/// As that of fi_recv: nobody waits in vain.
TEST_F(OfiMatching, AReceiveThatIsNotTakenForGoodIsTheNextPollsError) {
  bool is_broken = false;
  Sabotage sabotage(*here, [&](Call call) { return is_broken && call == Call::receive_matched ? -FI_EIO : 0; });
  is_broken = true;
  MatchedReceive receive;
  EXPECT_FALSE(here->matcher()->post(receive, *from, kMessage));
  EXPECT_TRUE(here->poll(told)) << "it is its owner's, who gathers now";
  here->matcher()->gather(Gathering::all());
  const auto count = here->poll(told);
  EXPECT_TRUE(!count && count.error().foreign_code() == FI_EIO);
  here.reset();
}

}  // namespace
}  // namespace shim::transport::testing
