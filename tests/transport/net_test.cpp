// SPDX-License-Identifier: BSD-3-Clause
// The way between nodes over real sockets of this machine, with a fabric in memory.
#include "shim/transport/net/net.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/base/descriptor.hpp"
#include "shim/transport/loop/loop.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/net/seal.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

using base::open_descriptors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kPacketBytes = 16 * 1024;

ConstSpan text(std::string_view of) { return std::as_bytes(std::span(of)); }

class NetTest : public ::testing::Test {
 protected:
  struct End {
    std::unique_ptr<Net> net;
    std::vector<std::string> heard;
    base::Result<int> poll() {
      CallSink sink([&](ConstSpan packet) { heard.emplace_back(reinterpret_cast<const char*>(packet.data()), packet.size()); });
      return net->poll(sink);
    }
  };

  End make() {
    return make([this]() -> Opened {
      ++fabrics_;
      return network_.add();
    });
  }
  End make(Opening::Work open_fabric) {
    auto net = make_net({.interface = "127.0.0.1", .open_fabric = std::move(open_fabric), .max_packet_bytes = kPacketBytes});
    EXPECT_TRUE(net) << net.error().text();
    return {*std::move(net), {}};
  }
  static Link& link(End& from, const End& to) { return **from.net->open(to.net->address()); }

  /// Everybody polls until the condition holds.
  template <typename Condition>
  static void poll_until(std::vector<End*> ends, const Condition& condition) {
    const base::Deadline deadline = base::Deadline::after_seconds(20);
    while (!condition()) {
      ASSERT_FALSE(deadline.passed());
      for (End* end : ends) ASSERT_TRUE(end->poll());
    }
  }

  LoopNetwork network_;
  std::atomic<int> fabrics_ = 0;
};

// A program may send and then do something else for hours.
TEST_F(NetTest, WithoutAFabricWhatIsTakenArrivesThoughTheSenderPollsNoMore) {
  for (const std::size_t bytes : {1ul, kConnectionPacketBytes}) {
    End one = make({}), other = make({});
    Link& to = link(one, other);
    const Bytes packet(bytes);
    std::size_t taken = 0;
    poll_until({&one, &other}, [&] { return (taken += *one.net->try_send(to, packet, {}) == Attempt::done) > 0; });
    for (int refused = 0; refused < 10;) {
      const bool is_taken = *one.net->try_send(to, packet, {}) == Attempt::done;
      taken += is_taken;
      refused += !is_taken;
    }
    EXPECT_GT(taken, 1u);
    poll_until({&other}, [&] { return other.heard.size() == taken; });
    EXPECT_EQ(fabrics_, 0);
    EXPECT_EQ(one.net->counts().packets_sent, taken);
  }
}

/// Allows so many more descriptors, as long as it lives.
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

bool is_readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

// Else who sleeps until something comes would never sleep.
TEST_F(NetTest, ACallThatCannotBeTakenForWantOfADescriptorIsNotToldOfAllTheTime) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  {
    const FewDescriptors only_for_the_caller(1);
    EXPECT_EQ(*one.net->try_send(to, text("hello"), {}), Attempt::again);
    const base::Deadline deadline = base::Deadline::after_seconds(20);
    while (!is_readable(other.net->descriptor()) && !deadline.passed()) ASSERT_TRUE(one.poll());
    ASSERT_TRUE(other.poll());
    EXPECT_FALSE(is_readable(other.net->descriptor()));
  }
  poll_until({&one, &other}, [&] { return *one.net->try_send(to, text("hello"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return !other.heard.empty(); });
}

// The system's buffers grow, and longer packets cost less for each byte.
TEST_F(NetTest, WithoutAFabricLongPacketsAreTakenWholeOnceTheConnectionTakesThem) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  EXPECT_EQ(one.net->long_packet_bytes(to), one.net->max_packet_bytes());
  std::size_t taken = 0;
  const auto send = [&](std::size_t bytes) { return (taken += *one.net->try_send(to, Bytes(bytes), {}) == Attempt::done); };
  poll_until({&one, &other}, [&] {
    send(one.net->long_packet_bytes(to));
    return one.net->long_packet_bytes(to) > one.net->max_packet_bytes();
  });
  poll_until({&one, &other}, [&] { return other.heard.size() == taken; });
  const std::size_t longest = one.net->long_packet_bytes(to);
  for (int refused = 0; refused < 10;) {
    const std::size_t before = taken;
    refused += send(longest) == before;
  }
  poll_until({&other}, [&] { return other.heard.size() == taken; });
  EXPECT_EQ(other.heard.back().size(), longest);
}

/// How long what was sent may wait for room at the other end, of all connections of this program.
std::vector<unsigned> patience_of_connections() {
  std::vector<unsigned> found;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    unsigned milliseconds = 0;
    length = sizeof milliseconds;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &length) == 0) found.push_back(milliseconds);
  }
  return found;
}

// The system gives a connection up whose other end has had no room for so long.
TEST_F(NetTest, WithoutAFabricOneWhoDoesNotReadIsWaitedFor) {
  End one = make({}), other = make({});
  Link& to = link(one, other);
  poll_until({&one, &other}, [&] { return *one.net->try_send_ahead(to, text("a"), {}) == Attempt::done && !other.heard.empty(); });
  EXPECT_THAT(patience_of_connections(), ::testing::Not(::testing::Contains(0u)));
  poll_until({&one, &other}, [&] { return *one.net->try_send(to, text("b"), {}) == Attempt::done; });
  EXPECT_THAT(patience_of_connections(), ::testing::Contains(0u));
}

// Whoever spoke last is asked first; however much it has to say, others are heard meanwhile, those too that have not called yet.
TEST_F(NetTest, WithoutAFabricOneWhoHasMuchToSayKeepsNobodyOut) {
  End speaker = make({}), other = make({}), listener = make({});
  Link &speaks = link(speaker, listener), &calls = link(other, listener);
  const Bytes much(kConnectionPacketBytes);
  const auto speak = [&] {
    while (*speaker.net->try_send(speaks, much, {}) == Attempt::done) {
    }
  };
  poll_until({&speaker, &listener}, [&] { return speak(), !listener.heard.empty(); });
  bool has_called = false;
  poll_until({&other, &listener}, [&] {
    speak();  // before each look of the listener something is there
    has_called = has_called || *other.net->try_send(calls, text("me, too"), {}) == Attempt::done;
    const bool is_heard = std::ranges::find(listener.heard, "me, too") != listener.heard.end();
    listener.heard.clear();
    return is_heard;
  });
}

TEST_F(NetTest, WithoutAFabricAProcessThatIsGoneIsSaid) {
  End one = make({});
  std::optional<End> other = make({});
  Link& to = link(one, *other);
  poll_until({&one, &*other}, [&] { return *one.net->try_send(to, text("a"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->heard.size() == 1; });
  other.reset();
  std::string reason;
  poll_until({&one}, [&] {
    const auto sent = one.net->try_send(to, text("b"), {});
    if (!sent) reason = sent.error().text();
    return !sent;
  });
  EXPECT_THAT(reason, ::testing::AnyOf(HasSubstr("cannot be reached"), HasSubstr("is lost")));
}

TEST_F(NetTest, WithoutAFabricOneWhoHasGoneIsSaidToBeOnceAllIsRead) {
  End one = make({}), third = make({});
  std::optional<End> other = make({});
  Link &to = link(one, *other), &to_third = link(one, third);
  EXPECT_FALSE(one.net->is_gone(to)) << "nobody has called yet";
  poll_until({&one, &*other}, [&] { return *one.net->try_send(to, text("a"), {}) == Attempt::done; });
  poll_until({&one, &third}, [&] { return *one.net->try_send(to_third, text("a"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->heard.size() == 1; });
  EXPECT_FALSE(one.net->is_gone(to));
  const Bytes packet(kConnectionPacketBytes);
  std::size_t sent = 0;
  for (; *other->net->try_send(link(*other, one), packet, {}) == Attempt::done; ++sent) {
  }
  EXPECT_GT(sent, 1u);
  other.reset();
  while (!one.net->is_gone(to)) {
    const std::size_t before = one.heard.size();
    ASSERT_NO_FATAL_FAILURE(poll_until({&one}, [&] { return one.heard.size() > before || one.net->is_gone(to); }));
  }
  EXPECT_EQ(one.heard.size(), sent);
  EXPECT_FALSE(one.net->is_gone(to_third));
}

TEST_F(NetTest, WithoutAFabricOneIsThereAsLongAsAnyOfItsConnections) {
  End one = make({});
  std::optional<End> other = make({});
  bool there = false, back = false;  // both call: two connections
  poll_until({&one, &*other}, [&] {
    there = there || *one.net->try_send(link(one, *other), text("there"), {}) == Attempt::done;
    back = back || *other->net->try_send(link(*other, one), text("back"), {}) == Attempt::done;
    return there && back && !one.heard.empty() && !other->heard.empty();
  });
  Link& to = link(one, *other);
  EXPECT_FALSE(one.net->is_gone(to));
  other.reset();
  poll_until({&one}, [&] { return one.net->is_gone(to); });
}

TEST_F(NetTest, WhoIsThereIsToldFromWhoHasGone) {
  for (const bool has_fabric : {false, true}) {
    End one = has_fabric ? make() : make({});
    std::optional<End> other = has_fabric ? make() : make({});
    Link& to = link(one, *other);
    EXPECT_EQ(one.net->presence(to), Presence::unknown) << "nobody has called yet";
    ASSERT_TRUE(one.net->try_send_ahead(to, text("a"), {}));
    poll_until({&one, &*other}, [&] { return other->heard.size() == 1; });
    EXPECT_EQ(one.net->presence(to), Presence::there);
    other.reset();
    const Bytes more(1024);
    poll_until({&one}, [&] {
      (void)one.net->try_send_ahead(to, more, {});
      return one.net->presence(to) == Presence::gone;
    });
  }
}

TEST_F(NetTest, ARefusedCallSaysThatNobodyIsThere) {
  End one = make({});
  std::optional<End> other = make({});
  Link& to = link(one, *other);
  other.reset();
  ASSERT_TRUE(one.net->try_send_ahead(to, text("a"), {}));
  poll_until({&one}, [&] { return one.net->presence(to) != Presence::unknown; });
  EXPECT_EQ(one.net->presence(to), Presence::gone_if_near) << "this machine's own address may be another's on its machine";
}

TEST_F(NetTest, ACallThatFindsNoWaySaysNothing) {
  End one = make({});
  // the first refuses; to the second, of a group of machines, there is no connection
  const ContactAddress nowhere{.cookie = 1, .port = 1, .addresses = {{.bytes = {127, 0, 0, 1}}, {.bytes = {224, 0, 0, 1}}}};
  Link& to = **one.net->open(nowhere.to_bytes());
  poll_until({&one}, [&] { return !one.net->try_send_ahead(to, text("a"), {}); });
  EXPECT_EQ(one.net->presence(to), Presence::unknown);
}

TEST(IpAddressTest, OwnOnesStayOnThisMachine) {
  for (const IpAddress& address : own_addresses("")) EXPECT_TRUE(is_own(address)) << address.text();
  EXPECT_TRUE(is_own({.bytes = {127, 3, 2, 1}}));
  EXPECT_FALSE(is_own({.bytes = {192, 0, 2, 1}}));
}

TEST_F(NetTest, AConnectionThatHasDoneItsWorkIsNobodysEnd) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  Link& to = link(one, other);
  poll_until({&one, &other}, [&] { return *one.net->try_send(to, text("there"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_FALSE(one.net->is_gone(to));
  EXPECT_FALSE(other.net->is_gone(link(other, one)));
}

// The fabric says nothing of it.
TEST_F(NetTest, WithAFabricOneWhoHasEndedIsFoundOutByThoseWhoAskForIt) {
  End one = make(), silent = make(), third = make();
  std::optional<End> other = make();
  Link &to = link(one, *other), &to_silent = link(one, silent), &to_third = link(one, third);
  poll_until({&one, &*other}, [&] { return *one.net->try_send(to, text("there"), {}) == Attempt::done; });
  poll_until({&one, &*other}, [&] { return other->heard.size() == 1; });
  for (int i = 0; i < 500; ++i) {
    for (Link* each : {&to, &to_silent, &to_third}) EXPECT_FALSE(one.net->is_gone(*each));
    EXPECT_FALSE(other->net->is_gone(link(*other, one)));
    for (End* end : {&one, &*other, &third}) ASSERT_TRUE(end->poll());
  }
  other.reset();
  poll_until({&one, &third}, [&] { return one.net->is_gone(to); });
  EXPECT_FALSE(one.net->is_gone(to_third));
  EXPECT_FALSE(one.net->is_gone(to_silent)) << "one that only does not poll";
  EXPECT_EQ(third.heard.size() + silent.heard.size(), 0u);
}

TEST_F(NetTest, WhoWantsAFabricHearsThatTheOtherHasNone) {
  End one = make(), other = make({});
  Link& to = link(one, other);
  std::string reason;
  poll_until({&one, &other}, [&] {
    const auto sent = one.net->try_send(to, text("a"), {});
    if (!sent) reason = sent.error().text();
    return !sent;
  });
  EXPECT_THAT(reason, HasSubstr("TCP connections"));
}

TEST_F(NetTest, WhatGoesAheadOpensNoFabric) {
  End one = make(), other = make();
  EXPECT_EQ(*one.net->try_send_ahead(link(one, other), text("a"), text("b")), Attempt::done);
  EXPECT_EQ(*one.net->try_send_ahead(link(one, other), text("c"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.heard.size() == 2; });
  EXPECT_THAT(other.heard, ElementsAre("ab", "c"));
  EXPECT_EQ(*other.net->try_send_ahead(link(other, one), text("d"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return one.heard.size() == 1; });
  EXPECT_EQ(fabrics_, 0);
  EXPECT_EQ(one.net->counts().contacts_made, 1u);
  EXPECT_EQ(other.net->counts().contacts_made, 0u) << "one connection serves both";
  EXPECT_EQ(one.net->counts().contact_messages, 2u);
  poll_until({}, [&] { return one.net->is_flushed() && other.net->is_flushed(); });
}

TEST_F(NetTest, TheFirstMessageOpensTheFabricAtBothEnds) {
  End one = make(), other = make(), third = make();
  EXPECT_EQ(*one.net->try_send(link(one, other), text("first"), {}), Attempt::again);
  poll_until({&one, &other, &third}, [&] { return *one.net->try_send(link(one, other), text("first"), {}) == Attempt::done; });
  poll_until({&one, &other, &third}, [&] { return !other.heard.empty(); });
  EXPECT_THAT(other.heard, ElementsAre("first"));
  EXPECT_EQ(fabrics_, 2);
  EXPECT_EQ(one.net->counts().fabrics_open, 1u);
  EXPECT_EQ(third.net->counts().fabrics_open, 0u);
}

TEST_F(NetTest, AConnectionThatOnlyOpenedTheFabricIsClosed) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] { return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*one.net->try_send_ahead(link(one, other), text("ahead"), {}), Attempt::done) << "it can be called again";
  poll_until({&one, &other}, [&] { return other.heard.size() == 2 && one.heard.size() == 1; });
  EXPECT_EQ(open_descriptors(), before + 2) << "a connection for packets stays, with its two ends";
}

TEST_F(NetTest, WhoWasAskedKnowsTheOtherWhenTheConnectionIsClosed) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] { return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done; });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*other.net->try_send(link(other, one), text("back"), {}), Attempt::done) << "it need not ask";
  poll_until({&one, &other}, [&] { return !one.heard.empty(); });
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(NetTest, TwoThatSendToEachOtherAtOnce) {
  End one = make(), other = make();
  bool there = false, back = false;
  poll_until({&one, &other}, [&] {
    there = there || *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
    back = back || *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done;
    return there && back && !one.heard.empty() && !other.heard.empty();
  });
  EXPECT_THAT(one.heard, ElementsAre("back"));
  EXPECT_THAT(other.heard, ElementsAre("there"));
}

TEST_F(NetTest, AFabricThatCannotBeOpenedIsTheErrorOfBothEnds) {
  End one = make(), other = make([]() -> Opened { return base::Error(base::ErrorClass::other, "no cable"); });
  base::Result<Attempt> sent = Attempt::again;
  poll_until({&one, &other}, [&] { return !(sent = one.net->try_send(link(one, other), text("x"), {})); });
  EXPECT_EQ(sent.error().error_class(), base::ErrorClass::proc_aborted);
  EXPECT_THAT(sent.error().text(), HasSubstr("no cable"));
  EXPECT_THAT(other.net->try_send(link(other, one), text("x"), {}).error().text(), HasSubstr("no cable"));
  EXPECT_EQ(*one.net->try_send_ahead(link(one, other), text("still"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return !other.heard.empty(); });
}

TEST_F(NetTest, AProcessThatHasEndedIsSaidToBeGone) {
  End one = make(), other = make();
  Link& to = link(one, other);
  EXPECT_EQ(*one.net->try_send_ahead(to, text("a"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.heard.size() == 1; });
  other.net.reset();
  base::Result<Attempt> sent = Attempt::done;
  poll_until({&one}, [&] { return !(sent = one.net->try_send_ahead(to, text("b"), {})); });
  EXPECT_EQ(sent.error().error_class(), base::ErrorClass::proc_aborted);
  poll_until({&one}, [&] { return one.net->is_flushed(); });
}

/// Whoever ends has been heard to the last word, though nobody polled meanwhile.
TEST_F(NetTest, WhatWasFlushedArrivesAfterTheSendersEnd) {
  End one = make(), other = make();
  Link& to = link(one, other);
  EXPECT_EQ(*one.net->try_send_ahead(to, text("hello"), {}), Attempt::done);
  EXPECT_EQ(*other.net->try_send_ahead(link(other, one), text("hello"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return !other.heard.empty() && !one.heard.empty(); });
  EXPECT_EQ(*other.net->try_send_ahead(link(other, one), text("never read"), {}), Attempt::done);  // makes TCP reset what closes
  const std::string body(kPacketBytes / 2, 'x');
  for (int i = 0; i < 4; ++i) EXPECT_EQ(*one.net->try_send_ahead(to, text(body), {}), Attempt::done);
  while (!one.net->is_flushed()) std::this_thread::yield();
  one.net.reset();
  poll_until({&other}, [&] { return other.heard.size() == 5; });
}

// A system that has seen an answer to what came waits up to 40 ms for the next one before it acknowledges anything.
TEST_F(NetTest, ThoseWhoEndTogetherDoNotWaitForTheirSystems) {
  End one = make({}), other = make({});
  auto exchange = [&](End& from, End& to) {
    const std::size_t before = to.heard.size();
    poll_until({&from, &to}, [&] { return *from.net->try_send(link(from, to), text("a"), {}) == Attempt::done; });
    poll_until({&from, &to}, [&] { return to.heard.size() > before; });
  };
  base::Nanoseconds shortest = 1'000'000'000;
  for (int round = 0; round < 5; ++round) {
    for (int turn = 0; turn < 10; ++turn) exchange(one, other), exchange(other, one);
    const base::Nanoseconds begin = base::now_ns();
    poll_until({&one, &other}, [&] { return one.net->is_flushed() & other.net->is_flushed(); });
    shortest = std::min(shortest, base::now_ns() - begin);
  }
  EXPECT_LT(shortest, 20'000'000) << "nanoseconds";
}

/// A caller by hand, at one of the addresses of a process.
class ByHand {
 public:
  explicit ByHand(const ContactAddress& to) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_storage at;
    const socklen_t length = to.addresses.front().to_socket_address(to.port, at);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
  }
  void send(ConstSpan bytes) { EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size())); }
  void send(ContactFrame kind, ConstSpan bytes) {
    FrameQueue frames;
    frames.add(kind, bytes);
    send(frames.rest());
  }
  /// What has come so far, without a wait.
  const Bytes& received() {
    std::array<std::byte, 1024> part;
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT)) > 0) bytes_.insert(bytes_.end(), part.begin(), part.begin() + got);
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

TEST_F(NetTest, AStrangerWithoutAHelloIsTurnedAway) {
  End end = make();
  ByHand stranger(*ContactAddress::from_bytes(end.net->address()));
  stranger.send(text("GET / HTTP/1.0\r\n\r\n"));
  poll_until({&end}, [&] { return stranger.is_closed(); });
  EXPECT_EQ(end.net->counts().packets_refused, 1u);
  EXPECT_TRUE(end.heard.empty());
}

TEST_F(NetTest, ACallerThatDoesNotKnowTheSecretIsTurnedAway) {
  End end = make();
  const auto address = *ContactAddress::from_bytes(end.net->address());
  ByHand stranger(address);
  const Nonce nonce = *random_nonce();
  stranger.send(ContactFrame::hello, bytes_of(Hello{Hello::kKind, nonce}));
  constexpr std::size_t kAnswer = sizeof(FrameHead) + sizeof(Challenge);
  poll_until({&end}, [&] { return stranger.received().size() == kAnswer; });
  Challenge challenge;
  std::memcpy(&challenge, stranger.received().data() + sizeof(FrameHead), sizeof challenge);
  auto seal = Seal::make(*Crypto::load(), Seal::End::caller, address.cookie + 1, nonce, challenge.nonce);
  stranger.send(ContactFrame::proof, *seal->close(address.to_bytes()));
  poll_until({&end}, [&] { return stranger.is_closed(); });
  EXPECT_EQ(stranger.received().size(), kAnswer) << "no welcome";
  EXPECT_EQ(end.net->counts().packets_refused, 1u);
}

/// Passes bytes on between a caller and the process that it means, and keeps those of the caller, as a reader of the network would.
class Reader {
 public:
  explicit Reader(const ContactAddress& to) : to_(to), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), length), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    port_ = ntohs(at.sin_port);
  }
  /// The address to call in place of the process's.
  Bytes address() const { return ContactAddress{.cookie = to_.cookie, .port = port_, .addresses = {{.bytes = {127, 0, 0, 1}}}}.to_bytes(); }
  void pass_on() {
    if (!caller_.is_open()) {
      caller_ = base::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (caller_.is_open()) called_.emplace(to_);
    }
    if (!caller_.is_open()) return;
    std::array<std::byte, 4096> part;
    if (const ssize_t got = ::recv(caller_.get(), part.data(), part.size(), MSG_DONTWAIT); got > 0) {
      said.insert(said.end(), part.begin(), part.begin() + got);
      called_->send(ConstSpan(part).first(static_cast<std::size_t>(got)));
    }
    const Bytes& answers = called_->received();
    if (passed_ == answers.size()) return;
    EXPECT_GT(::send(caller_.get(), answers.data() + passed_, answers.size() - passed_, MSG_NOSIGNAL), 0);
    passed_ = answers.size();
  }
  bool has_read(const auto& what) const { return !std::ranges::search(said, bytes_of(what)).empty(); }

  Bytes said;  ///< by the caller

 private:
  ContactAddress to_;
  base::Descriptor listener_, caller_;
  std::uint16_t port_ = 0;
  std::optional<ByHand> called_;
  std::size_t passed_ = 0;
};

TEST_F(NetTest, AReaderOfTheNetworkLearnsNoSecretAndCannotRepeatWhatItHasRead) {
  End one = make(), other = make();
  const auto ours = *ContactAddress::from_bytes(one.net->address()), theirs = *ContactAddress::from_bytes(other.net->address());
  Reader reader(theirs);
  constexpr std::string_view kTold = "an address that is told in a control message";
  Link& to = **one.net->open(reader.address());
  ASSERT_EQ(*one.net->try_send_ahead(to, text(kTold), {}), Attempt::done);
  poll_until({&one, &other}, [&] {
    reader.pass_on();
    return !other.heard.empty();
  });
  EXPECT_EQ(other.heard.front(), kTold);
  EXPECT_FALSE(reader.has_read(theirs.cookie)) << "the secret of the called process";
  EXPECT_FALSE(reader.has_read(ours.cookie)) << "the secret of the caller";
  EXPECT_TRUE(std::ranges::search(reader.said, text(kTold)).empty()) << "a control message";
  ByHand repeats(theirs);
  repeats.send(reader.said);
  poll_until({&one, &other}, [&] { return repeats.is_closed(); });
  EXPECT_EQ(other.heard.size(), 1u);
}

TEST_F(NetTest, AnImpostorThatDoesNotKnowTheSecretIsNotSpokenTo) {
  End one = make({}), impostor = make({});
  auto address = *ContactAddress::from_bytes(impostor.net->address());
  address.cookie += 1;  // of the process that is meant
  Link& to = **one.net->open(address.to_bytes());
  ASSERT_TRUE(one.net->try_send_ahead(to, text("for the other"), {}));
  poll_until({&one, &impostor}, [&] { return !one.net->try_send_ahead(to, text("more"), {}); });
  EXPECT_TRUE(impostor.heard.empty());
}

TEST(SealTest, OpensTheOtherEndsFramesInOrderAlone) {
  const auto crypto = *Crypto::load();
  const Nonce first = *random_nonce(), second = *random_nonce();
  const auto make = [&](Seal::End end, std::uint64_t secret) { return *Seal::make(crypto, end, secret, first, second); };
  for (const std::size_t bytes : {0ul, 1ul, 100ul, 20'000ul}) {
    Seal caller = make(Seal::End::caller, 1), called = make(Seal::End::called, 1);
    const Bytes plain(bytes, std::byte{7});
    const Bytes sealed = *caller.close(plain), next = *caller.close(plain);
    EXPECT_EQ(sealed.size(), bytes + kSealBytes);
    EXPECT_NE(sealed, next);
    EXPECT_EQ(called.open(sealed), plain);
    EXPECT_EQ(called.open(next), plain);
    EXPECT_FALSE(called.open(sealed)) << "a frame for the second time";
    EXPECT_FALSE(make(Seal::End::called, 2).open(sealed)) << "another secret";
    EXPECT_FALSE(make(Seal::End::caller, 1).open(sealed)) << "its own frame";
    EXPECT_FALSE(make(Seal::End::called, 1).open(next)) << "not the next frame";
    Bytes changed = sealed;
    changed[changed.size() / 2] ^= std::byte{1};
    EXPECT_FALSE(make(Seal::End::called, 1).open(changed)) << "a changed frame";
    EXPECT_FALSE(make(Seal::End::called, 1).open(ConstSpan(sealed).first(sealed.size() - 1))) << "a frame that is cut";
  }
}

/// Connections of strangers, which send nothing.
class SilentStrangers {
 public:
  explicit SilentStrangers(ConstSpan address) : address_(*ContactAddress::from_bytes(address)) {}
  void add(std::size_t number) {
    sockaddr_storage to;
    const socklen_t length = address_.addresses.front().to_socket_address(address_.port, to);
    for (; number > 0; --number) {
      sockets_.emplace_back(::socket(to.ss_family, SOCK_STREAM, 0));
      ASSERT_EQ(::connect(sockets_.back().get(), reinterpret_cast<const sockaddr*>(&to), length), 0);
    }
  }

 private:
  ContactAddress address_;
  std::vector<base::Descriptor> sockets_;
};

TEST_F(NetTest, ManySilentStrangersTakeFewDescriptorsAndDelayACallLittle) {
  constexpr std::size_t kStrangers = 300, kMostAtOnce = 128;
  End end = make({}), other = make({});
  const std::size_t before = open_descriptors();
  SilentStrangers strangers(end.net->address());
  strangers.add(kStrangers);
  ASSERT_TRUE(end.poll());
  EXPECT_LE(open_descriptors(), before + kStrangers + kMostAtOnce);
  EXPECT_FALSE(is_readable(end.net->descriptor())) << "calls that are left for later would keep the process awake";
  const base::Nanoseconds begin = base::now_ns();
  Link& to = link(other, end);
  poll_until({&end, &other}, [&] {
    EXPECT_LE(open_descriptors(), before + kStrangers + kMostAtOnce + 2);
    return *other.net->try_send(to, text("hello"), {}) == Attempt::done;
  });
  poll_until({&end, &other}, [&] { return !end.heard.empty(); });
  EXPECT_LT(base::now_ns() - begin, 5'000'000'000) << "nanoseconds";
  EXPECT_GE(end.net->counts().packets_refused, kStrangers - kMostAtOnce);
}

TEST_F(NetTest, ManyCallersOfTheJobAreAllTaken) {
  constexpr std::size_t kCallers = 150;
  End end = make({});
  std::vector<End> callers;
  for (std::size_t i = 0; i < kCallers; ++i) callers.push_back(make({}));
  for (End& caller : callers) ASSERT_TRUE(caller.net->try_send_ahead(link(caller, end), text("hello"), {}));
  std::vector<End*> all{&end};
  for (End& caller : callers) all.push_back(&caller);
  poll_until(all, [&] { return end.heard.size() == kCallers; });
}

TEST_F(NetTest, ListensAtItsOwnAddressesAlone) {
  End end = make();
  const auto address = *ContactAddress::from_bytes(end.net->address());
  sockaddr_storage to;
  const IpAddress another{.bytes = {127, 0, 0, 2}};
  const socklen_t length = another.to_socket_address(address.port, to);
  const base::Descriptor socket(::socket(to.ss_family, SOCK_STREAM, 0));
  EXPECT_NE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), length), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
}

/// The first address is one where nobody listens: the listener has none of IPv6.
TEST_F(NetTest, AddressesAreTriedInTurn) {
  End one = make(), other = make();
  auto address = *ContactAddress::from_bytes(other.net->address());
  IpAddress nobody;
  nobody.bytes.back() = 1;
  nobody.is_v6 = true;
  address.addresses.insert(address.addresses.begin(), nobody);
  Link& to = **one.net->open(address.to_bytes());
  EXPECT_EQ(*one.net->try_send_ahead(to, text("a"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.heard.size() == 1; });
}

TEST(ContactAddresses, AreNoLongerThanTheLongest) {
  const std::vector<IpAddress> many(kMostAddresses, {.bytes = {0xfd, 1}, .is_v6 = true});
  const Bytes bytes = ContactAddress{.cookie = 1, .port = 4711, .addresses = many}.to_bytes();
  EXPECT_EQ(bytes.size(), kLongestNetAddress);
  EXPECT_TRUE(ContactAddress::from_bytes(bytes));
}

TEST(ContactAddresses, AreSmallAndComeBackFromBytes) {
  ContactAddress address{.cookie = 0x0123456789abcdef, .port = 4711, .addresses = {{.bytes = {10, 1, 2, 3}}, {.bytes = {0xfd, 1}, .is_v6 = true}}};
  const Bytes bytes = address.to_bytes();
  EXPECT_EQ(bytes.size(), 12u + 5 + 17);
  const auto back = ContactAddress::from_bytes(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cookie, address.cookie);
  EXPECT_EQ(back->addresses, address.addresses);
  EXPECT_EQ(back->text(), "10.1.2.3, fd01:: port 4711");
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(ContactAddress::from_bytes(ConstSpan(bytes).first(length))) << length;
}

TEST(ContactAddresses, AnInterfaceThatIsNoneOfTheInternetsChangesNothing) {
  EXPECT_EQ(own_addresses("mlx5_0"), own_addresses(""));
  EXPECT_THAT(own_addresses("127.0.0.1"), ElementsAre(IpAddress{.bytes = {127, 0, 0, 1}}));
}

}  // namespace
}  // namespace shim::transport::testing
