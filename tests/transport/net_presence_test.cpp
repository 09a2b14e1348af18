// SPDX-License-Identifier: BSD-3-Clause
// Tests how the transport between nodes detects processes that have ended.
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "shim/transport/failure_detector.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/presence_detector.hpp"
#include "shim/transport/setup_path.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

using base::open_descriptors;
using ::testing::HasSubstr;

class NetPresenceTest : public NetFixture {};

TEST_F(NetPresenceTest, TcpReportsAPeerThatIsGone) {
  End one = make({});
  std::optional<End> other = make({});
  Link& to = link(one, *other);
  poll_until({&one, &*other},
             [&] { return *one.net->try_send(to, text("a"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->received.size() == 1; });
  other.reset();
  std::string reason;
  poll_until({&one}, [&] {
    const auto sent = one.net->try_send(to, text("b"), {});
    if (!sent) reason = sent.error().text();
    return !sent;
  });
  EXPECT_THAT(reason, ::testing::AnyOf(HasSubstr("cannot connect"), HasSubstr("is lost")));
}

TEST_F(NetPresenceTest, TcpReportsAPeerGoneAfterItsDataIsRead) {
  End one = make({}), third = make({});
  std::optional<End> other = make({});
  Link &to = link(one, *other), &to_third = link(one, third);
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to)) << "no connection exists yet";
  poll_until({&one, &*other},
             [&] { return *one.net->try_send(to, text("a"), {}) == Attempt::done; });
  poll_until({&one, &third},
             [&] { return *one.net->try_send(to_third, text("a"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->received.size() == 1; });
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to));
  const Bytes packet(kConnectionPacketBytes);
  std::size_t sent = 0;
  for (; *other->net->try_send(link(*other, one), packet, {}) == Attempt::done; ++sent) {
  }
  EXPECT_GT(sent, 1u);
  other.reset();
  while (!one.net->failure_detector()->is_gone(to)) {
    const std::size_t before = one.received.size();
    ASSERT_NO_FATAL_FAILURE(poll_until({&one}, [&] {
      return one.received.size() > before || one.net->failure_detector()->is_gone(to);
    }));
  }
  EXPECT_EQ(one.received.size(), sent);
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to_third));
}

TEST_F(NetPresenceTest, TcpPeerIsPresentWhileAnyConnectionIsOpen) {
  End one = make({});
  std::optional<End> other = make({});
  bool there = false, back = false;  // both ends connect, which makes two connections
  poll_until({&one, &*other}, [&] {
    there = there || *one.net->try_send(link(one, *other), text("there"), {}) == Attempt::done;
    back = back || *other->net->try_send(link(*other, one), text("back"), {}) == Attempt::done;
    return there && back && !one.received.empty() && !other->received.empty();
  });
  Link& to = link(one, *other);
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to));
  other.reset();
  poll_until({&one}, [&] { return one.net->failure_detector()->is_gone(to); });
}

TEST_F(NetPresenceTest, PresenceDistinguishesLivePeersFromGonePeers) {
  for (const bool has_fabric : {false, true}) {
    End one = has_fabric ? make() : make({});
    std::optional<End> other = has_fabric ? make() : make({});
    Link& to = link(one, *other);
    EXPECT_EQ(one.net->presence_detector()->presence(to), Presence::unknown)
        << "no connection exists yet";
    ASSERT_TRUE(one.net->setup_path()->try_send_ahead(to, text("a"), {}));
    poll_until({&one, &*other}, [&] { return other->received.size() == 1; });
    EXPECT_EQ(one.net->presence_detector()->presence(to), Presence::present);
    other.reset();
    const Bytes more(1024);
    poll_until({&one}, [&] {
      (void)one.net->setup_path()->try_send_ahead(to, more, {});
      return one.net->presence_detector()->presence(to) == Presence::gone;
    });
  }
}

TEST_F(NetPresenceTest, RefusedConnectMeansGone) {
  End one = make({});
  std::optional<End> other = make({});
  Link& to = link(one, *other);
  other.reset();
  ASSERT_TRUE(one.net->setup_path()->try_send_ahead(to, text("a"), {}));
  poll_until({&one},
             [&] { return one.net->presence_detector()->presence(to) != Presence::unknown; });
  EXPECT_EQ(one.net->presence_detector()->presence(to), Presence::gone_if_local)
      << "another machine may have an equal local address";
}

TEST_F(NetPresenceTest, UnreachableConnectMeansUnknown) {
  End one = make({});
  // the first address refuses; the second is a multicast address, to which TCP cannot connect
  const TcpAddress nowhere{
      .cookie = 1, .port = 1, .addresses = {{.bytes = {127, 0, 0, 1}}, {.bytes = {224, 0, 0, 1}}}};
  Link& to = **one.net->open(nowhere.to_bytes());
  poll_until({&one}, [&] { return !one.net->setup_path()->try_send_ahead(to, text("a"), {}); });
  EXPECT_EQ(one.net->presence_detector()->presence(to), Presence::unknown);
}

TEST_F(NetPresenceTest, ClosingAnUnusedConnectionDoesNotMeanGone) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  Link& to = link(one, other);
  poll_until({&one, &other},
             [&] { return *one.net->try_send(to, text("there"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to));
  EXPECT_FALSE(other.net->failure_detector()->is_gone(link(other, one)));
}

// The fabric does not report the exit.
TEST_F(NetPresenceTest, FabricPeerThatHasEndedIsDetectedByConnecting) {
  End one = make(), silent = make(), third = make();
  std::optional<End> other = make();
  Link &to = link(one, *other), &to_silent = link(one, silent), &to_third = link(one, third);
  poll_until({&one, &*other},
             [&] { return *one.net->try_send(to, text("there"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->received.size() == 1; });
  for (int i = 0; i < 500; ++i) {
    for (Link* each : {&to, &to_silent, &to_third})
      EXPECT_FALSE(one.net->failure_detector()->is_gone(*each));
    EXPECT_FALSE(other->net->failure_detector()->is_gone(link(*other, one)));
    for (End* end : {&one, &*other, &third}) ASSERT_TRUE(end->poll());
  }
  other.reset();
  poll_until({&one, &third}, [&] { return one.net->failure_detector()->is_gone(to); });
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to_third));
  EXPECT_FALSE(one.net->failure_detector()->is_gone(to_silent))
      << "a peer that only does not poll is not gone";
  EXPECT_EQ(third.received.size() + silent.received.size(), 0u);
}

TEST_F(NetPresenceTest, EndedProcessIsGone) {
  End one = make(), other = make();
  Link& to = link(one, other);
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(to, text("a"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.received.size() == 1; });
  other.net.reset();
  base::Result<Attempt> sent = Attempt::done;
  poll_until({&one},
             [&] { return !(sent = one.net->setup_path()->try_send_ahead(to, text("b"), {})); });
  EXPECT_EQ(sent.error().error_class(), base::ErrorClass::proc_aborted);
  poll_until({&one}, [&] { return one.net->is_flushed(); });
}

}  // namespace
}  // namespace shim::transport::testing
