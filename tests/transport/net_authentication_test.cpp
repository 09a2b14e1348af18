// SPDX-License-Identifier: BSD-3-Clause
// Tests the authentication of connections between nodes: clients without the secret are refused,
// and an eavesdropper learns no secret.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "shim/base/descriptor.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/net/seal.hpp"
#include "shim/transport/setup_path.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

using base::open_descriptors;

class NetAuthenticationTest : public NetFixture {};

/// A client that sends raw bytes to the first address of a process.
class RawClient {
 public:
  explicit RawClient(const TcpAddress& to) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_storage at;
    const socklen_t length = to.addresses.front().to_socket_address(to.port, at);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
  }
  void send(ConstSpan bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void send(TcpFrameKind kind, ConstSpan bytes) {
    FrameQueue frames;
    frames.add(kind, bytes);
    send(frames.rest());
  }
  /// Return all bytes received so far, without blocking.
  const Bytes& received() {
    std::array<std::byte, 1024> part;
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT)) > 0)
      bytes_.insert(bytes_.end(), part.begin(), part.begin() + got);
    is_closed_ = is_closed_ || got == 0 || errno == ECONNRESET;
    return bytes_;
  }
  bool is_closed() {
    received();
    return is_closed_;
  }

 private:
  base::Descriptor socket_;
  Bytes bytes_;
  bool is_closed_ = false;
};

TEST_F(NetAuthenticationTest, RefusesAClientWithoutHello) {
  End end = make();
  RawClient client(*TcpAddress::from_bytes(end.net->address()));
  client.send(text("GET / HTTP/1.0\r\n\r\n"));
  poll_until({&end}, [&] { return client.is_closed(); });
  EXPECT_EQ(end.net->counts().packets_refused, 1u);
  EXPECT_TRUE(end.received.empty());
}

TEST_F(NetAuthenticationTest, RefusesAClientWithoutTheSecret) {
  End end = make();
  const auto address = *TcpAddress::from_bytes(end.net->address());
  RawClient client(address);
  const Nonce nonce = *random_nonce();
  client.send(TcpFrameKind::hello, bytes_of(Hello{Hello::kKind, nonce}));
  constexpr std::size_t kAnswer = sizeof(FrameHead) + sizeof(Challenge);
  poll_until({&end}, [&] { return client.received().size() == kAnswer; });
  Challenge challenge;
  std::memcpy(&challenge, client.received().data() + sizeof(FrameHead), sizeof challenge);
  auto seal = Seal::make(*Crypto::load(), Seal::Side::caller, address.cookie + 1, nonce,
                         challenge.nonce);
  client.send(TcpFrameKind::proof, *seal->close(address.to_bytes()));
  poll_until({&end}, [&] { return client.is_closed(); });
  EXPECT_EQ(client.received().size(), kAnswer) << "must contain no welcome";
  EXPECT_EQ(end.net->counts().packets_refused, 1u);
}

/// Relays bytes between a client and a server, and records the client's bytes, as a process that
/// reads the network could.
class Eavesdropper {
 public:
  explicit Eavesdropper(const TcpAddress& to)
      : to_(to), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    port_ = ntohs(at.sin_port);
  }
  /// Return the address to which the client connects instead of the server's.
  Bytes address() const {
    return TcpAddress{.cookie = to_.cookie, .port = port_, .addresses = {{.bytes = {127, 0, 0, 1}}}}
        .to_bytes();
  }
  void relay() {
    if (!caller_.is_open()) {
      caller_ = base::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (caller_.is_open()) server_.emplace(to_);
    }
    if (!caller_.is_open()) return;
    std::array<std::byte, 4096> part;
    if (const ssize_t got = ::recv(caller_.get(), part.data(), part.size(), MSG_DONTWAIT);
        got > 0) {
      recorded.insert(recorded.end(), part.begin(), part.begin() + got);
      server_->send(ConstSpan(part).first(static_cast<std::size_t>(got)));
    }
    const Bytes& answers = server_->received();
    if (passed_ == answers.size()) return;
    EXPECT_GT(
        ::send(caller_.get(), answers.data() + passed_, answers.size() - passed_, MSG_NOSIGNAL), 0);
    passed_ = answers.size();
  }
  bool contains(std::span<const std::byte> what) const {
    return std::search(recorded.begin(), recorded.end(), what.begin(), what.end()) !=
           recorded.end();
  }
  bool has_read(const auto& what) const { return contains(bytes_of(what)); }

  Bytes recorded;  ///< bytes sent by the client

 private:
  TcpAddress to_;
  base::Descriptor listener_, caller_;
  std::uint16_t port_ = 0;
  std::optional<RawClient> server_;
  std::size_t passed_ = 0;
};

TEST_F(NetAuthenticationTest, EavesdropperLearnsNoSecretAndCannotReplay) {
  End one = make(), other = make();
  const auto ours = *TcpAddress::from_bytes(one.net->address()),
             theirs = *TcpAddress::from_bytes(other.net->address());
  Eavesdropper reader(theirs);
  constexpr std::string_view kSecret = "an address that is sent in a control message";
  Link& to = **one.net->open(reader.address());
  ASSERT_EQ(*one.net->setup_path()->try_send_ahead(to, text(kSecret), {}), Attempt::done);
  poll_until({&one, &other}, [&] {
    reader.relay();
    return !other.received.empty();
  });
  EXPECT_EQ(other.received.front(), kSecret);
  EXPECT_FALSE(reader.has_read(theirs.cookie)) << "the secret of the server must not be readable";
  EXPECT_FALSE(reader.has_read(ours.cookie)) << "the secret of the client must not be readable";
  EXPECT_FALSE(reader.contains(text(kSecret))) << "a control message must not be readable";
  RawClient repeats(theirs);
  repeats.send(reader.recorded);
  poll_until({&one, &other}, [&] { return repeats.is_closed(); });
  EXPECT_EQ(other.received.size(), 1u);
}

TEST_F(NetAuthenticationTest, SendsNothingToAServerWithoutTheSecret) {
  End one = make({}), impostor = make({});
  auto address = *TcpAddress::from_bytes(impostor.net->address());
  address.cookie += 1;  // now wrong for this server
  Link& to = **one.net->open(address.to_bytes());
  ASSERT_TRUE(one.net->setup_path()->try_send_ahead(to, text("for the other"), {}));
  poll_until({&one, &impostor},
             [&] { return !one.net->setup_path()->try_send_ahead(to, text("more"), {}); });
  EXPECT_TRUE(impostor.received.empty());
}

TEST(SealTest, OpensOnlyThePeersFramesInOrder) {
  const auto crypto = *Crypto::load();
  const Nonce first = *random_nonce(), second = *random_nonce();
  const auto make = [&](Seal::Side end, std::uint64_t secret) {
    return *Seal::make(crypto, end, secret, first, second);
  };
  for (const std::size_t bytes : {0ul, 1ul, 100ul, 20'000ul}) {
    Seal caller = make(Seal::Side::caller, 1), called = make(Seal::Side::called, 1);
    const Bytes plain(bytes, std::byte{7});
    const Bytes sealed = *caller.close(plain), next = *caller.close(plain);
    EXPECT_EQ(sealed.size(), bytes + kSealBytes);
    EXPECT_NE(sealed, next);
    EXPECT_EQ(called.open(sealed), plain);
    EXPECT_EQ(called.open(next), plain);
    EXPECT_FALSE(called.open(sealed)) << "a repeated frame must be refused";
    EXPECT_FALSE(make(Seal::Side::called, 2).open(sealed))
        << "a frame sealed with another secret must be refused";
    EXPECT_FALSE(make(Seal::Side::caller, 1).open(sealed)) << "an end's own frame must be refused";
    EXPECT_FALSE(make(Seal::Side::called, 1).open(next)) << "a frame out of order must be refused";
    Bytes changed = sealed;
    changed[changed.size() / 2] ^= std::byte{1};
    EXPECT_FALSE(make(Seal::Side::called, 1).open(changed)) << "a changed frame must be refused";
    EXPECT_FALSE(make(Seal::Side::called, 1).open(ConstSpan(sealed).first(sealed.size() - 1)))
        << "a truncated frame must be refused";
  }
}

/// Unauthenticated connections that send nothing.
class SilentClients {
 public:
  explicit SilentClients(ConstSpan address) : address_(*TcpAddress::from_bytes(address)) {}
  void add(std::size_t number) {
    sockaddr_storage to;
    const socklen_t length = address_.addresses.front().to_socket_address(address_.port, to);
    for (; number > 0; --number) {
      sockets_.emplace_back(::socket(to.ss_family, SOCK_STREAM, 0));
      ASSERT_EQ(::connect(sockets_.back().get(), reinterpret_cast<const sockaddr*>(&to), length),
                0);
    }
  }

 private:
  TcpAddress address_;
  std::vector<base::Descriptor> sockets_;
};

TEST_F(NetAuthenticationTest, LimitsDescriptorsOfUnauthenticatedConnections) {
  constexpr std::size_t kClients = 300, kMaxAtOnce = 128;
  End end = make({}), other = make({});
  const std::size_t before = open_descriptors();
  SilentClients unauthenticated(end.net->address());
  unauthenticated.add(kClients);
  ASSERT_TRUE(end.poll());
  EXPECT_LE(open_descriptors(), before + kClients + kMaxAtOnce);
  EXPECT_FALSE(is_readable(end.net->sleeper()->descriptor()))
      << "connections not accepted yet would keep the process from sleeping";
  const base::Nanoseconds begin = base::now_ns();
  Link& to = link(other, end);
  poll_until({&end, &other}, [&] {
    EXPECT_LE(open_descriptors(), before + kClients + kMaxAtOnce + 2);
    return *other.net->try_send(to, text("hello"), {}) == Attempt::done;
  });
  poll_until({&end, &other}, [&] { return !end.received.empty(); });
  EXPECT_LT(base::now_ns() - begin, 5'000'000'000) << "nanoseconds";
  EXPECT_GE(end.net->counts().packets_refused, kClients - kMaxAtOnce);
}

}  // namespace
}  // namespace shim::transport::testing
