// SPDX-License-Identifier: BSD-3-Clause
// Tests how processes connect: attempts at several addresses, limits, and long handshakes.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/presence_detector.hpp"
#include "shim/transport/setup_path.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

using ::testing::ElementsAre;

class NetConnectTest : public NetFixture {
 protected:
  void send_once(End& from, End& to) {
    Link& over = link(from, to);
    poll_until({&from, &to},
               [&] { return *from.net->try_send(over, text("hello"), {}) == Attempt::done; });
    poll_until({&from, &to}, [&] { return !to.received.empty(); });
  }
};

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
TEST_F(NetConnectTest, PausesAcceptingWhileOutOfDescriptors) {
  // A sanitizer opens a pipe when it first checks a call through a class, so a first message goes
  // before the limit, between two other processes.
  End first = make({}), second = make({});
  send_once(first, second);
  End one = make({}), other = make({});
  Link& to = link(one, other);
  const int descriptor = other.net->sleeper()->descriptor();
  {
    const FewDescriptors only_for_the_caller(1);
    EXPECT_EQ(*one.net->try_send(to, text("hello"), {}), Attempt::again);
    const base::Deadline deadline = base::Deadline::after_seconds(20);
    while (!is_readable(descriptor) && !deadline.passed()) ASSERT_TRUE(one.poll());
    ASSERT_TRUE(other.poll());
    EXPECT_FALSE(is_readable(descriptor));
  }
  send_once(one, other);
}

TEST_F(NetConnectTest, SimultaneousConnectsBothWork) {
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
TEST_F(NetConnectTest, UsesThePeersConnectionIfItsOwnAttemptsFail) {
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
TEST_F(NetConnectTest, ConnectsAgainIfTheHandshakeTakesTooLong) {
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

TEST_F(NetConnectTest, AcceptsManyPeersAtOnce) {
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

TEST_F(NetConnectTest, ListensOnlyAtLocalAddresses) {
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
TEST_F(NetConnectTest, TriesAddressesInTurn) {
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

}  // namespace
}  // namespace shim::transport::testing
