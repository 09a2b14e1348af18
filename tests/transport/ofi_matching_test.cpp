// SPDX-License-Identifier: BSD-3-Clause
// Tests provider matching of the libfabric transport. tests/p2p/provider_matching_ofi_test.cpp
// tests the protocols of the engine above it.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <optional>

#include "shim/base/clock.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/ofi/wire.hpp"
#include "tests/transport/fault_injection.hpp"
#include "tests/transport/large_buffer_network.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

/// Records matched and cancelled receives, and messages drained without a receive.
struct MatchingSink final : Sink {
  bool on_packet(ConstSpan packet) override {
    drained.emplace_back(packet.begin(), packet.end());
    return true;
  }
  void on_matched(MatchedReceive& receive, ConstSpan packet) override {
    matched.emplace_back(&receive, Bytes(packet.begin(), packet.end()));
  }
  void on_cancelled(MatchedReceive& receive) override { cancelled.push_back(&receive); }

  std::vector<Bytes> drained;
  std::vector<std::pair<MatchedReceive*, Bytes>> matched;
  std::vector<MatchedReceive*> cancelled;
};

class OfiMatching : public ::testing::Test {
 protected:
  static constexpr Envelope kMessage{std::uint64_t{5} << 32 | 2, 1, 3};

  static std::unique_ptr<Transport> make() {
    testing::raise_receive_memory_for("sockets");
    auto made = make_ofi({.provider = "sockets", .interface = "lo", .matching = true});
    EXPECT_TRUE(made && (*made)->matcher());
    return *std::move(made);
  }
  void poll_until(const std::function<bool()>& condition) {
    const auto deadline = base::Deadline::after_seconds(30);
    while (!condition()) {
      EXPECT_TRUE(here->poll(events));
      EXPECT_TRUE(there->poll(nothing));
      sched_yield();
      ASSERT_FALSE(deadline.passed());
    }
  }
  void poll(int times) {
    while (times-- > 0) {
      EXPECT_TRUE(here->poll(events));
      EXPECT_TRUE(there->poll(nothing));
    }
  }
  void send(Transport& sender, Link& link, const Envelope& message, const Bytes& bytes) {
    poll_until(
        [&] { return *sender.matcher()->try_send(link, message, bytes, {}) == Attempt::done; });
  }
  /// Send a message with a wrong token.
  void send_unauthenticated() {
    OfiAddress address = *OfiAddress::from_bytes(here->address());
    ++address.cookie;
    Link& guessed = **there->open(address.to_bytes());
    const auto refused = here->counts().packets_refused;
    send(*there, guessed, kMessage, body_of(2, 500));
    poll_until([&] {
      return here->counts().packets_refused >= refused + 2;
    });  // its address frame, and this message
  }

  std::unique_ptr<Transport> here = make(), there = make();
  MatchingSink events, nothing;
  Link* from = *here->open(there->address());
  Link* to = *there->open(here->address());
  const Bytes sent = body_of(1, 500);
};

TEST_F(OfiMatching, UnauthenticatedMessageIsDroppedAndItsReceiveReturned) {
  MatchedReceive receive;
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  send_unauthenticated();
  ASSERT_EQ(events.matched.size(), 1u);
  EXPECT_EQ(events.matched.front().first, &receive);
  EXPECT_TRUE(events.matched.front().second.empty());
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return events.matched.size() == 2; });
  EXPECT_EQ(events.matched.back().second, sent);
}

/// If the receive stayed posted after the drain's receive, which accepts all messages, it would
/// never match its message.
TEST_F(OfiMatching, UnauthenticatedMessageDuringADrainIsDropped) {
  MatchedReceive receive;
  ASSERT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  here->matcher()->set_drain(DrainScope::all());
  send_unauthenticated();
  EXPECT_EQ(events.matched.size(), 1u);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !events.drained.empty(); });
  EXPECT_EQ(events.drained.front(), sent);
}

TEST_F(OfiMatching, RefusesReceivesDuringADrain) {
  MatchedReceive receive;
  here->matcher()->set_drain(DrainScope::all());
  EXPECT_TRUE(here->matcher()->is_draining(kMessage.context));
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::again);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !events.drained.empty(); });
  EXPECT_EQ(events.drained.front(), sent);
  here->matcher()->set_drain(DrainScope::none());
  poll_until([&] { return !here->matcher()->is_draining(kMessage.context); });
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::done);
  here->matcher()->cancel(receive);
  poll_until([&] { return !events.cancelled.empty(); });
}

/// Receives of other contexts can be posted during the drain, and match their messages.
TEST_F(OfiMatching, DrainsOnlyTheRequestedContext) {
  constexpr Envelope kOther{kMessage.context + 1, kMessage.source, kMessage.tag};
  here->matcher()->set_drain(DrainScope::of(kMessage.context));
  EXPECT_TRUE(here->matcher()->is_draining(kMessage.context));
  EXPECT_FALSE(here->matcher()->is_draining(kOther.context));
  MatchedReceive receive;
  EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), Attempt::again);
  ASSERT_EQ(*here->matcher()->post(receive, *from, kOther), Attempt::done);
  send(*there, *to, kMessage, sent);
  send(*there, *to, kOther, body_of(3, 500));
  send(*there, *to, kOther, body_of(4, 500));
  poll_until([&] { return !events.matched.empty() && !events.drained.empty(); });
  EXPECT_EQ(events.matched.front().second, body_of(3, 500));
  poll(100);
  EXPECT_EQ(events.drained, (std::vector<Bytes>{sent}));
  // a requested drain takes the remaining message, and leaves the drain scope unchanged
  const std::uint64_t drain = here->matcher()->request_drain();
  poll_until([&] {
    return here->matcher()->drains_completed() >= drain &&
           here->matcher()->is_draining(kMessage.context);
  });
  EXPECT_EQ(events.drained.back(), body_of(4, 500));
  EXPECT_FALSE(here->matcher()->is_draining(kOther.context));
  here->matcher()->set_drain(DrainScope::all());
  poll_until([&] { return here->matcher()->is_draining(kOther.context); });
}

TEST_F(OfiMatching, DrainsAMessageForADetachedReceive) {
  auto receive = std::make_unique<MatchedReceive>();
  ASSERT_EQ(*here->matcher()->post(*receive, *from, kMessage), Attempt::done);
  here->matcher()->detach(*receive);
  receive.reset();
  send(*there, *to, kMessage, sent);
  const std::uint64_t drain = here->matcher()->request_drain();
  here->matcher()->set_drain(DrainScope::all());
  poll_until(
      [&] { return here->matcher()->drains_completed() >= drain && !events.drained.empty(); });
  EXPECT_EQ(events.drained.front(), sent);
  EXPECT_TRUE(events.matched.empty() && events.cancelled.empty());
}

/// The provider itself does not limit its memory for unexpected messages.
TEST_F(OfiMatching, LimitsUnackedUnexpectedMessages) {
  constexpr std::size_t kMessages = 1000, kBytes = 8000;
  const auto try_send = [&] {
    return *there->matcher()->try_send(*to, kMessage, body_of(1, kBytes), {}) == Attempt::done;
  };
  const auto send_until = [&](std::size_t messages) {
    std::size_t taken = 0;
    poll_until([&] { return (taken += try_send()) == messages; });
  };
  send_until(kMessages);
  EXPECT_GT(events.drained.size(), kMessages - (std::size_t{2} << 20) / kBytes);
  // a receiver that does not poll gets no more than the limit
  std::size_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    taken += try_send();
    EXPECT_TRUE(there->poll(nothing));
  }
  EXPECT_LT(taken, (std::size_t{2} << 20) / kBytes);
  poll_until(try_send);
}

TEST_F(OfiMatching, ReservesOneReceiveForDrains) {
  std::vector<MatchedReceive> receives(here->matcher()->free_receives() + 1);
  for (MatchedReceive& receive : receives) {
    const Attempt expected = &receive == &receives.back() ? Attempt::again : Attempt::done;
    EXPECT_EQ(*here->matcher()->post(receive, *from, kMessage), expected);
  }
  EXPECT_EQ(here->matcher()->free_receives(), 0u);
  here->matcher()->set_drain(DrainScope::all());
  EXPECT_TRUE(here->matcher()->is_draining(kMessage.context));
  for (MatchedReceive& receive : receives) here->matcher()->detach(receive);
}

/// The provider fails the call `refused` until the test resets it.
class OfiMatchingRefusals : public OfiMatching, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kLong = 300;

  ~OfiMatchingRefusals() override {
    here.reset();
    there.reset();
  }
  Attempt post() { return *here->matcher()->post(receive, *from, kMessage); }
  Attempt try_send(std::size_t bytes) {
    return *there->matcher()->try_send(*to, kMessage, body_of(1, bytes), {});
  }

  std::optional<Call> refused;
  const FaultInjector::Refusal refusal = [this](Call call) {
    return call == refused ? -GetParam() : 0;
  };
  FaultInjector injector{*here, refusal}, injector_there{*there, refusal};
  MatchedReceive receive;
};

TEST_P(OfiMatchingRefusals, ReceiveIsReportedAsAgain) {
  refused = Call::receive_matched;
  for (int i = 0; i < kLong; ++i) EXPECT_EQ(post(), Attempt::again);
  send(*there, *to, kMessage, sent);
  refused.reset();
  EXPECT_EQ(post(), Attempt::done);
  poll_until([&] { return !events.matched.empty(); });
  EXPECT_EQ(events.matched.front().second, sent);
}

TEST_P(OfiMatchingRefusals, DrainReceiveIsRetried) {
  refused = Call::receive_matched;
  here->matcher()->set_drain(DrainScope::all());
  const std::uint64_t drain = here->matcher()->request_drain();
  send(*there, *to, kMessage, sent);
  poll(kLong);
  EXPECT_FALSE(here->matcher()->is_draining(kMessage.context));
  EXPECT_TRUE(events.drained.empty());
  refused.reset();
  poll_until(
      [&] { return !events.drained.empty() && here->matcher()->drains_completed() >= drain; });
  EXPECT_EQ(events.drained.front(), sent);
  // the provider also refuses the drain's receive between two messages
  poll_until([&] { return here->matcher()->is_draining(kMessage.context); });
  refused = Call::receive_matched;
  send(*there, *to, kMessage, sent);
  send(*there, *to, kMessage, body_of(3, 500));
  poll_until([&] { return events.drained.size() == 2; });
  poll(kLong);
  EXPECT_EQ(events.drained.size(), 2u);
  refused.reset();
  poll_until([&] { return events.drained.size() == 3; });
  EXPECT_EQ(events.drained.back(), body_of(3, 500));
}

TEST_P(OfiMatchingRefusals, SendIsRetried) {
  for (auto [call, bytes] : {std::pair{Call::send_matched, std::size_t{5000}},
                             std::pair{Call::inject_matched, std::size_t{10}}}) {
    ASSERT_EQ(post(), Attempt::done);
    refused = call;
    for (int i = 0; i < kLong; ++i) {
      EXPECT_EQ(try_send(bytes), Attempt::again);
      poll(1);
    }
    refused.reset();
    poll_until([&, bytes = bytes] { return try_send(bytes) == Attempt::done; });
    poll_until([&] { return !events.matched.empty(); });
    poll(kLong);
    ASSERT_EQ(events.matched.size(), 1u);
    EXPECT_EQ(events.matched.front().second, body_of(1, bytes));
    events.matched.clear();
  }
}

TEST_P(OfiMatchingRefusals, CancelIsRetried) {
  ASSERT_EQ(post(), Attempt::done);
  here->matcher()->set_drain(DrainScope::all());
  refused = Call::cancel;
  here->matcher()->cancel(receive);
  here->matcher()->set_drain(DrainScope::none());
  poll(kLong);
  EXPECT_TRUE(events.cancelled.empty());
  EXPECT_TRUE(here->matcher()->is_draining(kMessage.context));
  refused.reset();
  poll_until(
      [&] { return !events.cancelled.empty() && !here->matcher()->is_draining(kMessage.context); });
  EXPECT_EQ(events.cancelled, std::vector{&receive});
}

TEST_P(OfiMatchingRefusals, CancelIsNotRetriedAfterTheReceive) {
  ASSERT_EQ(post(), Attempt::done);
  refused = Call::cancel;
  here->matcher()->cancel(receive);
  send_unauthenticated();
  EXPECT_EQ(events.cancelled, std::vector{&receive})
      << "an unauthenticated message ends the cancelled receive";
  ASSERT_EQ(post(), Attempt::done);
  refused.reset();
  poll(kLong);
  send(*there, *to, kMessage, sent);
  poll_until([&] { return !events.matched.empty(); });
}

INSTANTIATE_TEST_SUITE_P(Codes, OfiMatchingRefusals, ::testing::Values(FI_EAGAIN, FI_ENOMEM),
                         [](const auto& test) {
                           return test.param == FI_EAGAIN ? "again" : "no_memory";
                         });

/// A permanent error of fi_trecv fails the endpoint, as an error of fi_recv does.
TEST_F(OfiMatching, PermanentlyRefusedReceiveIsTheNextPollsError) {
  bool is_broken = false;
  FaultInjector injector(
      *here, [&](Call call) { return is_broken && call == Call::receive_matched ? -FI_EIO : 0; });
  is_broken = true;
  MatchedReceive receive;
  EXPECT_FALSE(here->matcher()->post(receive, *from, kMessage));
  EXPECT_TRUE(here->poll(events))
      << "post() has reported the error to its caller, which then drains";
  here->matcher()->set_drain(DrainScope::all());
  const auto count = here->poll(events);
  EXPECT_TRUE(!count && count.error().foreign_code() == FI_EIO);
  here.reset();
}

}  // namespace
}  // namespace shim::transport::testing
