// SPDX-License-Identifier: BSD-3-Clause
// Tests the transport between nodes: packets, opening the fabric, exits of processes, addresses.
#include "shim/transport/net/net.hpp"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/presence_detector.hpp"
#include "shim/transport/setup_path.hpp"
#include "shim/transport/sleeper.hpp"
#include "shim/transport/stream_limits.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

using base::open_descriptors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NetTest : public NetFixture {};

// A program may compute for hours after a send.
TEST_F(NetTest, TcpDeliversAcceptedPacketsThoughTheSenderStopsPolling) {
  for (const std::size_t bytes : {1ul, kConnectionPacketBytes}) {
    End one = make({}), other = make({});
    Link& to = link(one, other);
    const Bytes packet(bytes);
    std::size_t taken = 0;
    poll_until({&one, &other},
               [&] { return (taken += *one.net->try_send(to, packet, {}) == Attempt::done) > 0; });
    for (int refused = 0; refused < 10;) {
      const bool is_taken = *one.net->try_send(to, packet, {}) == Attempt::done;
      taken += is_taken;
      refused += !is_taken;
    }
    EXPECT_GT(taken, 1u);
    poll_until({&other}, [&] { return other.received.size() == taken; });
    EXPECT_EQ(fabrics_, 0);
    EXPECT_EQ(one.net->counts().packets_sent, taken);
  }
}

/// Limits the process to `more` further descriptors while the object exists.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const base::Descriptor lowest(::dup(STDERR_FILENO));
    const rlimit now{static_cast<rlim_t>(lowest.get()) + more, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Otherwise a process that sleeps until its descriptor is readable would never sleep.
TEST_F(NetTest, PausesAcceptingWhileOutOfDescriptors) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  // outside the scope: a sanitizer opens a pipe when it checks a call through an interface
  const int descriptor = other.net->sleeper()->descriptor();
  {
    const FewDescriptors only_for_the_caller(1);
    EXPECT_EQ(*one.net->try_send(to, text("hello"), {}), Attempt::again);
    const base::Deadline deadline = base::Deadline::after_seconds(20);
    while (!is_readable(descriptor) && !deadline.passed()) ASSERT_TRUE(one.poll());
    ASSERT_TRUE(other.poll());
    EXPECT_FALSE(is_readable(descriptor));
  }
  poll_until({&one, &other},
             [&] { return *one.net->try_send(to, text("hello"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return !other.received.empty(); });
}

// The kernel enlarges socket buffers over time, and longer packets cost less per byte.
TEST_F(NetTest, TcpSendsLongPacketsOnceTheSendBufferFitsThem) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  EXPECT_EQ(one.net->stream_limits()->long_packet_bytes(to), one.net->max_packet_bytes());
  std::size_t taken = 0;
  const auto send = [&](std::size_t bytes) {
    return (taken += *one.net->try_send(to, Bytes(bytes), {}) == Attempt::done);
  };
  poll_until({&one, &other}, [&] {
    send(one.net->stream_limits()->long_packet_bytes(to));
    return one.net->stream_limits()->long_packet_bytes(to) > one.net->max_packet_bytes();
  });
  poll_until({&one, &other}, [&] { return other.received.size() == taken; });
  const std::size_t longest = one.net->stream_limits()->long_packet_bytes(to);
  for (int refused = 0; refused < 10;) {
    const std::size_t before = taken;
    refused += send(longest) == before;
  }
  poll_until({&other}, [&] { return other.received.size() == taken; });
  EXPECT_EQ(other.received.back().size(), longest);
}

/// Return TCP_USER_TIMEOUT in ms of each connection of this program; 0 means no limit.
std::vector<unsigned> user_timeouts() {
  std::vector<unsigned> found;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    unsigned milliseconds = 0;
    length = sizeof milliseconds;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &length) == 0)
      found.push_back(milliseconds);
  }
  return found;
}

// The kernel aborts a connection whose peer has had no receive buffer space for TCP_USER_TIMEOUT.
TEST_F(NetTest, TcpWaitsForAPeerThatDoesNotRead) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  poll_until({&one, &other}, [&] {
    return *one.net->setup_path()->try_send_ahead(to, text("a"), {}) == Attempt::done &&
           !other.received.empty();
  });
  EXPECT_THAT(user_timeouts(), ::testing::Not(::testing::Contains(0u)));
  poll_until({&one, &other},
             [&] { return *one.net->try_send(to, text("b"), {}) == Attempt::done; });
  EXPECT_THAT(user_timeouts(), ::testing::Contains(0u));
}

// The receiver polls the last sender first. A sender that sends without a pause must not delay
// packets from other peers, nor connections from new peers.
TEST_F(NetTest, TcpBusySenderDoesNotStarveOthers) {
  End busy_sender = make({}), other = make({}), receiver = make({});
  Link &busy_link = link(busy_sender, receiver), &other_link = link(other, receiver);
  const Bytes much(kConnectionPacketBytes);
  const auto send_all = [&] {
    while (*busy_sender.net->try_send(busy_link, much, {}) == Attempt::done) {
    }
  };
  poll_until({&busy_sender, &receiver}, [&] { return send_all(), !receiver.received.empty(); });
  bool has_sent = false;
  poll_until({&other, &receiver}, [&] {
    send_all();  // before each poll of the receiver a packet is waiting
    has_sent = has_sent || *other.net->try_send(other_link, text("me, too"), {}) == Attempt::done;
    const bool is_heard = std::ranges::find(receiver.received, "me, too") !=
                          receiver.received.end();
    receiver.received.clear();
    return is_heard;
  });
}

TEST_F(NetTest, TcpReportsAPeerThatIsGone) {
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

TEST_F(NetTest, TcpReportsAPeerGoneAfterItsDataIsRead) {
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

TEST_F(NetTest, TcpPeerIsPresentWhileAnyConnectionIsOpen) {
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

TEST_F(NetTest, PresenceDistinguishesLivePeersFromGonePeers) {
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

TEST_F(NetTest, RefusedConnectMeansGone) {
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

TEST_F(NetTest, UnreachableConnectMeansUnknown) {
  End one = make({});
  // the first address refuses; the second is a multicast address, to which TCP cannot connect
  const TcpAddress nowhere{
      .cookie = 1, .port = 1, .addresses = {{.bytes = {127, 0, 0, 1}}, {.bytes = {224, 0, 0, 1}}}};
  Link& to = **one.net->open(nowhere.to_bytes());
  poll_until({&one}, [&] { return !one.net->setup_path()->try_send_ahead(to, text("a"), {}); });
  EXPECT_EQ(one.net->presence_detector()->presence(to), Presence::unknown);
}

TEST(IpAddressTest, LocalAddressesAreRecognised) {
  for (const IpAddress& address : local_addresses(""))
    EXPECT_TRUE(is_local_address(address)) << address.text();
  EXPECT_TRUE(is_local_address({.bytes = {127, 3, 2, 1}}));
  EXPECT_FALSE(is_local_address({.bytes = {192, 0, 2, 1}}));
}

TEST_F(NetTest, ClosingAnUnusedConnectionDoesNotMeanGone) {
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
TEST_F(NetTest, FabricPeerThatHasEndedIsDetectedByConnecting) {
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

TEST_F(NetTest, FabricRequestFailsIfThePeerHasNoFabric) {
  End one = make(), other = make({});
  Link& to = link(one, other);
  std::string reason;
  poll_until({&one, &other}, [&] {
    const auto sent = one.net->try_send(to, text("a"), {});
    if (!sent) reason = sent.error().text();
    return !sent;
  });
  EXPECT_THAT(reason, HasSubstr("TCP between nodes"));
}

TEST_F(NetTest, ControlPacketsOpenNoFabric) {
  End one = make(), other = make();
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("a"), text("b")),
            Attempt::done);
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("c"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.received.size() == 2; });
  EXPECT_THAT(other.received, ElementsAre("ab", "c"));
  EXPECT_EQ(*other.net->setup_path()->try_send_ahead(link(other, one), text("d"), {}),
            Attempt::done);
  poll_until({&one, &other}, [&] { return one.received.size() == 1; });
  EXPECT_EQ(fabrics_, 0);
  EXPECT_EQ(one.net->counts().tcp_connections, 1u);
  EXPECT_EQ(other.net->counts().tcp_connections, 0u) << "one connection serves both directions";
  EXPECT_EQ(one.net->counts().tcp_messages, 2u);
  poll_until({}, [&] { return one.net->is_flushed() && other.net->is_flushed(); });
}

TEST_F(NetTest, FirstMessageOpensTheFabricAtBothEnds) {
  End one = make(), other = make(), third = make();
  EXPECT_EQ(*one.net->try_send(link(one, other), text("first"), {}), Attempt::again);
  poll_until({&one, &other, &third}, [&] {
    return *one.net->try_send(link(one, other), text("first"), {}) == Attempt::done;
  });
  poll_until({&one, &other, &third}, [&] { return !other.received.empty(); });
  EXPECT_THAT(other.received, ElementsAre("first"));
  EXPECT_EQ(fabrics_, 2);
  EXPECT_EQ(one.net->counts().fabrics_open, 1u);
  EXPECT_EQ(third.net->counts().fabrics_open, 0u);
}

TEST_F(NetTest, ClosesAConnectionThatOnlyOpenedTheFabric) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] {
    return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] {
    return *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("ahead"), {}),
            Attempt::done)
      << "a new connection must be possible";
  poll_until({&one, &other},
             [&] { return other.received.size() == 2 && one.received.size() == 1; });
  EXPECT_EQ(open_descriptors(), before + 2)
      << "a connection for packets stays open: two descriptors";
}

TEST_F(NetTest, RequestedPeerKnowsTheRequesterAfterClose) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] {
    return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*other.net->try_send(link(other, one), text("back"), {}), Attempt::done)
      << "the requested peer needs no fabric request";
  poll_until({&one, &other}, [&] { return !one.received.empty(); });
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(NetTest, SimultaneousConnectsBothWork) {
  End one = make(), other = make();
  bool there = false, back = false;
  poll_until({&one, &other}, [&] {
    there = there || *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
    back = back || *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done;
    return there && back && !one.received.empty() && !other.received.empty();
  });
  EXPECT_THAT(one.received, ElementsAre("back"));
  EXPECT_THAT(other.received, ElementsAre("there"));
}

/// A socket of this machine that accepts connections and never responds.
class SilentListener {
 public:
  SilentListener() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_storage at;
    socklen_t length = kLoopback.to_socket_address(0, at);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    sockaddr_in name{};
    std::memcpy(&name, &at, sizeof name);
    port_ = ntohs(name.sin_port);
  }
  /// Return this listener's address with another process's secret.
  Bytes address_for(ConstSpan process) const {
    return TcpAddress{
        .cookie = TcpAddress::from_bytes(process)->cookie, .port = port_, .addresses = {kLoopback}}
        .to_bytes();
  }
  /// Accept a connection; not open if there is none.
  base::Descriptor accept() const {
    return base::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
  }
  /// End all connections, and refuse further ones.
  void close() { listener_ = base::Descriptor(); }

 private:
  static constexpr IpAddress kLoopback{.bytes = {127, 0, 0, 1}};
  base::Descriptor listener_;
  std::uint16_t port_ = 0;
};

// For example, a firewall lets only one of the two processes connect.
TEST_F(NetTest, UsesThePeersConnectionIfItsOwnAttemptsFail) {
  for (const bool is_ahead : {false, true}) {
    End one = make({}), other = make({});
    SilentListener wrong;
    Link& to = **one.net->open(wrong.address_for(other.net->address()));
    const auto send = [&](std::string_view what) {
      return is_ahead ? one.net->setup_path()->try_send_ahead(to, text(what), {})
                      : one.net->try_send(to, text(what), {});
    };
    EXPECT_EQ(*send("first"), is_ahead ? Attempt::done : Attempt::again);
    poll_until({&one, &other}, [&] {
      return *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done;
    });
    poll_until({&one, &other}, [&] { return !one.received.empty(); });
    wrong.close();
    poll_until({&one, &other}, [&] {
      const auto sent = send("there");
      EXPECT_TRUE(sent) << sent.error().text();
      return !sent || *sent == Attempt::done;
    });
    poll_until({&one, &other}, [&] {
      return one.net->presence_detector()->presence(to) != Presence::present ||
             !other.received.empty();
    });
    ASSERT_FALSE(other.received.empty());
    EXPECT_EQ(other.received.front(), is_ahead ? "first" : "there");
  }
}

// A process closes connections that stay unauthenticated, after 10 s, or 0.1 s if there are many. A
// caller that polls too seldom to authenticate itself in time must not take it for dead.
TEST_F(NetTest, ConnectsAgainIfTheHandshakeTakesTooLong) {
  constexpr int kAttempts = 5;  // more than it makes at each address of a process that refuses
  constexpr double kSecondsUntilClose = 0.15;
  End one = make({}), other = make({});
  SilentListener busy;
  Link& to = **one.net->open(busy.address_for(other.net->address()));
  EXPECT_EQ(*one.net->try_send(to, text("a"), {}), Attempt::again);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    base::Descriptor caller;
    std::byte hello{};
    poll_until({&one}, [&] {
      if (!caller.is_open()) caller = busy.accept();
      return ::recv(caller.get(), &hello, sizeof hello, MSG_DONTWAIT | MSG_PEEK) > 0;
    });
    const auto wait = base::Deadline::after_seconds(kSecondsUntilClose);
    poll_until({&one}, [&] { return wait.passed(); });
    const auto sent = one.net->try_send(to, text("a"), {});
    ASSERT_TRUE(sent) << sent.error().text();
  }
}

TEST_F(NetTest, FabricOpenFailureFailsBothEnds) {
  End one = make(), other = make([]() -> FabricResult {
                      return base::Error(base::ErrorClass::other, "no cable");
                    });
  base::Result<Attempt> sent = Attempt::again;
  poll_until({&one, &other},
             [&] { return !(sent = one.net->try_send(link(one, other), text("x"), {})); });
  EXPECT_EQ(sent.error().error_class(), base::ErrorClass::proc_aborted);
  EXPECT_THAT(sent.error().text(), HasSubstr("no cable"));
  EXPECT_THAT(other.net->try_send(link(other, one), text("x"), {}).error().text(),
              HasSubstr("no cable"));
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("still"), {}),
            Attempt::done);
  poll_until({&one, &other}, [&] { return !other.received.empty(); });
}

TEST_F(NetTest, EndedProcessIsGone) {
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

/// All flushed data arrive although the sender closes and the receiver has not polled meanwhile.
TEST_F(NetTest, FlushedDataArrivesAfterTheSenderEnds) {
  End one = make(), other = make();
  Link& to = link(one, other);
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(to, text("hello"), {}), Attempt::done);
  EXPECT_EQ(*other.net->setup_path()->try_send_ahead(link(other, one), text("hello"), {}),
            Attempt::done);
  poll_until({&one, &other}, [&] { return !other.received.empty() && !one.received.empty(); });
  EXPECT_EQ(*other.net->setup_path()->try_send_ahead(link(other, one), text("never read"), {}),
            Attempt::done);  // unread data make TCP reset the connection when it is closed
  const std::string body(kPacketBytes / 2, 'x');
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(*one.net->setup_path()->try_send_ahead(to, text(body), {}), Attempt::done);
  while (!one.net->is_flushed()) std::this_thread::yield();
  one.net.reset();
  poll_until({&other}, [&] { return other.received.size() == 5; });
}

// Linux delays TCP acknowledgements by up to 40 ms on a connection with replies in both directions.
TEST_F(NetTest, ProcessesThatEndTogetherFlushWithoutDelay) {
  End one = make({}), other = make({});
  auto exchange = [&](End& from, End& to) {
    const std::size_t before = to.received.size();
    poll_until({&from, &to},
               [&] { return *from.net->try_send(link(from, to), text("a"), {}) == Attempt::done; });
    poll_until({&from, &to}, [&] { return to.received.size() > before; });
  };
  base::Nanoseconds shortest = 1'000'000'000;
  for (int round = 0; round < 5; ++round) {
    for (int turn = 0; turn < 10; ++turn) exchange(one, other), exchange(other, one);
    const base::Nanoseconds begin = base::now_ns();
    poll_until({&one, &other}, [&] {
      const bool one_is_flushed = one.net->is_flushed();
      return other.net->is_flushed() && one_is_flushed;
    });
    shortest = std::min(shortest, base::now_ns() - begin);
  }
  EXPECT_LT(shortest, 20'000'000) << "in nanoseconds";
}

TEST_F(NetTest, AcceptsManyPeersAtOnce) {
  constexpr std::size_t kCallers = 150;
  End end = make({});
  std::vector<End> callers;
  for (std::size_t i = 0; i < kCallers; ++i) callers.push_back(make({}));
  for (End& caller : callers)
    ASSERT_TRUE(caller.net->setup_path()->try_send_ahead(link(caller, end), text("hello"), {}));
  std::vector<End*> all{&end};
  for (End& caller : callers) all.push_back(&caller);
  poll_until(all, [&] { return end.received.size() == kCallers; });
}

TEST_F(NetTest, ListensOnlyAtLocalAddresses) {
  End end = make();
  const auto address = *TcpAddress::from_bytes(end.net->address());
  sockaddr_storage to;
  const IpAddress another{.bytes = {127, 0, 0, 2}};
  const socklen_t length = another.to_socket_address(address.port, to);
  const base::Descriptor socket(::socket(to.ss_family, SOCK_STREAM, 0));
  EXPECT_NE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), length), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

/// No process listens at the first address: the peer has no IPv6 listener.
TEST_F(NetTest, TriesAddressesInTurn) {
  End one = make(), other = make();
  auto address = *TcpAddress::from_bytes(other.net->address());
  IpAddress unused;
  unused.bytes.back() = 1;
  unused.is_v6 = true;
  address.addresses.insert(address.addresses.begin(), unused);
  Link& to = **one.net->open(address.to_bytes());
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(to, text("a"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.received.size() == 1; });
}

TEST(TcpAddresses, FitTheMaximumLength) {
  const std::vector<IpAddress> many(kMaxAddresses, {.bytes = {0xfd, 1}, .is_v6 = true});
  const Bytes bytes = TcpAddress{.cookie = 1, .port = 4711, .addresses = many}.to_bytes();
  EXPECT_EQ(bytes.size(), kMaxNetAddressBytes);
  EXPECT_TRUE(TcpAddress::from_bytes(bytes));
}

TEST(TcpAddresses, RoundTripThroughBytes) {
  TcpAddress address{.cookie = 0x0123456789abcdef,
                     .port = 4711,
                     .addresses = {{.bytes = {10, 1, 2, 3}}, {.bytes = {0xfd, 1}, .is_v6 = true}}};
  const Bytes bytes = address.to_bytes();
  EXPECT_EQ(bytes.size(), 12u + 5 + 17);
  const auto back = TcpAddress::from_bytes(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cookie, address.cookie);
  EXPECT_EQ(back->addresses, address.addresses);
  EXPECT_EQ(back->text(), "10.1.2.3, fd01:: port 4711");
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(TcpAddress::from_bytes(ConstSpan(bytes).first(length))) << length;
}

TEST(TcpAddresses, UnknownInterfaceNameIsIgnored) {
  EXPECT_EQ(local_addresses("mlx5_0"), local_addresses(""));
  EXPECT_THAT(local_addresses("127.0.0.1"), ElementsAre(IpAddress{.bytes = {127, 0, 0, 1}}));
}

TEST(TcpAddresses, UnknownInterfaceIsAnErrorWithoutFabric) {
  EXPECT_THAT(make_net({.interface = "nope0"}).error().text(),
              AllOf(HasSubstr("INTERSESSION_INTERFACE=nope0 is no interface or address"),
                    HasSubstr("lo 127.0.0.1")));
  EXPECT_TRUE(make_net({.interface = "127.0.0."}));
  EXPECT_TRUE(make_net({.interface = "nope0", .open_fabric = [] {
                          return FabricResult(base::Error(base::ErrorClass::other, ""));
                        }}));
}

}  // namespace
}  // namespace shim::transport::testing
