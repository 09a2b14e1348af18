// SPDX-License-Identifier: BSD-3-Clause
// Tests packets of the transport between nodes.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/setup_path.hpp"
#include "shim/transport/stream_limits.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

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

}  // namespace
}  // namespace shim::transport::testing
