// SPDX-License-Identifier: BSD-3-Clause
// Tests Links without an engine.
#include "shim/p2p/links.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Finds the stub transport for all processes, unless the test sets an error.
class OneRoute final : public Router {
 public:
  explicit OneRoute(transport::Transport& transport) : transport_(transport) {}
  base::Result<Route> route_to(base::ProcessId) override {
    ++calls;
    if (during_call) during_call();
    if (fails) return base::Error(base::ErrorClass::other, "no address");
    return Route{&transport_, {}};
  }
  bool is_alive(base::ProcessId) override { return true; }
  std::function<void()> during_call;
  bool fails = false;
  int calls = 0;

 private:
  transport::Transport& transport_;
};

class RecordedErrors final : public PeerFailures {
 public:
  void fail_link(Peer&, const base::Error&) override {}
  void on_send_error(Peer& to, const base::Error& reason) override {
    broken.push_back(&to);
    text = reason.text();
  }
  std::vector<const Peer*> broken;
  std::string text;
};

/// A communicator of three processes at rank 0.
struct LinksPart : testing::Test {
  base::BiasedLock lock;
  Guard guard{lock};
  StubTransport transport;
  OneRoute router{transport};
  PipedLog log;
  base::Settings settings;
  EagerLimits limits{settings};
  Transports transports;
  Peers peers;
  RecordedOutput output;
  RecordedErrors errors;
  Engine::Counts counts;
  Links part{{.router = &router,
              .log = log.log(),
              .limits = limits,
              .transports = transports,
              .peers = peers,
              .output = output,
              .failures = errors,
              .counts = counts}};
  Context context{nullptr, spec_of(3)};
  Peer& one = peers.at(context, 1);
};

TEST_F(LinksPart, OpensLinkAtFirstUse) {
  const auto found = part.usable_peer(context, 1, guard);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, &one);
  EXPECT_EQ(one.link, &transport.link);
  EXPECT_TRUE(guard.owns_lock());
  EXPECT_EQ(transports.size(), 1u);
  EXPECT_EQ(counts.peers_contacted, 1u);
  EXPECT_THAT(output.resumed, ElementsAre(&one));
  EXPECT_TRUE(part.usable_peer(context, 1, guard));
  EXPECT_EQ(router.calls, 1);
}

TEST_F(LinksPart, LimitOfOnePacketIsThatOfTransport) {
  ASSERT_TRUE(part.open(one, guard));
  EXPECT_EQ(one.eager_end, transport.max_packet_bytes() - wire::kMaxHeader + 1);
  EXPECT_EQ(one.fast_end, one.eager_end);
  one.throttles_us = true;
  limits.set(one);
  EXPECT_EQ(one.eager_end, 0u);
}

TEST_F(LinksPart, ErrorOfRouterIsReturned) {
  router.fails = true;
  const auto found = part.usable_peer(context, 1, guard);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text(), "no address");
  EXPECT_TRUE(guard.owns_lock());
}

TEST_F(LinksPart, FailedPeerIsNotUsable) {
  one.failure = base::Error(base::ErrorClass::proc_aborted, "has died");
  const auto found = part.usable_peer(context, 1, guard);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text(), "has died");
  EXPECT_EQ(router.calls, 0);
}

TEST_F(LinksPart, PeerThatFailsMeanwhileIsNotUsable) {
  router.during_call = [this] {
    one.failure = base::Error(base::ErrorClass::proc_aborted, "has died");
  };
  EXPECT_FALSE(part.open(one, guard));
  EXPECT_EQ(one.link, nullptr);
}

TEST_F(LinksPart, LinkThatAnotherThreadOpensMeanwhileIsKept) {
  transport::Link other;
  router.during_call = [&] { one.link = &other; };
  EXPECT_TRUE(part.open(one, guard));
  EXPECT_EQ(one.link, &other);
  EXPECT_EQ(counts.peers_contacted, 0u);
}

TEST_F(LinksPart, RequestedLinkIsOpenedOnce) {
  part.request_route(one);
  part.request_route(one);
  EXPECT_TRUE(part.has_requests());
  part.open_requested(guard);
  EXPECT_EQ(router.calls, 1);
  EXPECT_EQ(one.link, &transport.link);
  EXPECT_FALSE(part.has_requests());
}

TEST_F(LinksPart, LostAnswerIsWarningAndFailsPeer) {
  router.fails = true;
  one.queue.emplace_back();
  part.request_route(one);
  part.open_requested(guard);
  EXPECT_THAT(errors.broken, ElementsAre(&one));
  EXPECT_THAT(log.text(), HasSubstr("cannot respond to process 1: no address"));
}

TEST_F(LinksPart, LostNoticeIsNoWarning) {
  router.fails = true;
  QueuedOutput& notice = one.queue.emplace_back();
  notice.header[0] = static_cast<std::byte>(wire::PacketType::collectives_failed);
  part.request_route(one);
  part.open_requested(guard);
  EXPECT_THAT(errors.broken, ElementsAre(&one));
  EXPECT_THAT(log.text(), IsEmpty());
}

}  // namespace
}  // namespace shim::p2p
