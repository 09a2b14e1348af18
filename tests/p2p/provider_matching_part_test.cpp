// SPDX-License-Identifier: BSD-3-Clause
// Tests ProviderMatching without an engine.
#include "shim/p2p/provider_matching.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records the receives that are posted to it, and the scope to drain.
class StubMatcher final : public transport::Matcher {
 public:
  bool takes(base::ContextId, std::int32_t) const override { return true; }
  base::Result<transport::Attempt> try_send(transport::Link&, const transport::Envelope&,
                                            transport::ConstSpan, transport::ConstSpan) override {
    return transport::Attempt::done;
  }
  base::Result<transport::Attempt> post(transport::MatchedReceive& receive, transport::Link&,
                                        const transport::Envelope&) override {
    if (refuses || !drain.is_none()) return transport::Attempt::again;
    posted.push_back(&receive);
    return transport::Attempt::done;
  }
  std::size_t free_receives() const override { return 4; }
  void cancel(transport::MatchedReceive& receive) override { cancelled.push_back(&receive); }
  void detach(transport::MatchedReceive& receive) override { std::erase(posted, &receive); }
  void set_drain(const transport::DrainScope& what) override { drain = what; }
  bool is_draining(base::ContextId context) const override { return drain.includes(context); }
  std::uint64_t request_drain() override { return 1; }
  std::uint64_t drains_completed() const override { return 0; }

  bool refuses = false;
  transport::DrainScope drain = transport::DrainScope::none();
  std::vector<transport::MatchedReceive*> posted, cancelled;
};

/// Records what happens to receives.
class RecordedReceives final : public ProviderReceives, public RouteRequests {
 public:
  void request_route(Peer& to) override { routes.push_back(to.process.rank); }
  void deliver(ReceiveRequest& request, const MessageInfo& info, Context&) override {
    delivered.push_back(&request);
    tag = info.tag;
  }
  base::Status restart(ReceiveRequest& request) override {
    restarted.push_back(&request);
    return {};
  }
  std::vector<std::uint32_t> routes;
  std::vector<const ReceiveRequest*> delivered, restarted;
  int tag = -1;
};

/// A communicator of three processes, at rank 0, and a link to rank 1 whose provider matches.
struct ProviderMatchingPart : testing::Test {
  ProviderMatchingPart() {
    transport.matches = &matcher;
    transports.add(transport);
    transport.connect(one);
  }
  ~ProviderMatchingPart() override {
    for (ReceiveRequest* each : {&from_one, &from_any}) {
      part.remove_posted(*each);
      if (each->posted || each->with_provider) ends.end(*each, {}, std::nullopt);
    }
  }
  void post_here(ReceiveRequest& request) {
    post(request);
    part.add_posted(request);
  }
  transport::Bytes message(int tag) const {
    const auto header = wire::Eager::of(wire::PacketType::eager, wire::SenderNumber::of({0, 1}), 1,
                                        context.id, tag, 0);
    const auto bytes = wire::bytes_of(header);
    return {bytes.begin(), bytes.end()};
  }

  Transports transports;
  StubTransport transport;
  StubMatcher matcher;
  Peers peers;
  RecordedEnds ends;
  RecordedReceives receives;
  Engine::Counts counts;
  ProviderMatching part{{.self = {0, 0},
                         .is_enabled = true,
                         .transports = transports,
                         .peers = peers,
                         .routes = receives,
                         .operations = ends,
                         .receives = receives,
                         .counts = counts}};
  Context context{nullptr, spec_of(3)};
  Peer& one = peers.at(context, 1);
  ReceiveRequest from_one{nullptr, {&context, 1, 5}, {nullptr, 0, &types::byte_type()}};
  ReceiveRequest from_any{nullptr, {&context, kAnySource, 5}, {nullptr, 0, &types::byte_type()}};
};

TEST_F(ProviderMatchingPart, PostsReceiveThatNamesItsSource) {
  EXPECT_TRUE(part.start(from_one));
  EXPECT_THAT(matcher.posted, ElementsAre(&from_one));
  EXPECT_TRUE(from_one.with_provider);
  part.detach(from_one);
  EXPECT_THAT(matcher.posted, IsEmpty());
  EXPECT_FALSE(from_one.with_provider);
}

TEST_F(ProviderMatchingPart, ReceiveFromAnySourceStaysHereAndDrainsItsCommunicator) {
  EXPECT_FALSE(part.start(from_any));
  post_here(from_any);
  EXPECT_TRUE(from_any.is_in_drain);
  EXPECT_THAT(receives.routes, IsEmpty()) << "the first rank with a link decides";
  EXPECT_TRUE(matcher.drain.includes(context.id));
  EXPECT_FALSE(part.start(from_one)) << "later receives wait behind it";
}

TEST_F(ProviderMatchingPart, LaterReceivesMoveToProviderAfterDrain) {
  post_here(from_any);
  post_here(from_one);
  part.progress();
  EXPECT_THAT(matcher.posted, IsEmpty());
  part.remove_posted(from_any);
  part.progress();
  EXPECT_TRUE(matcher.drain.is_none());
  EXPECT_THAT(matcher.posted, ElementsAre(&from_one));
  EXPECT_FALSE(from_one.posted);
  ends.end(from_any, {}, std::nullopt);
}

TEST_F(ProviderMatchingPart, RefusedMoveDrainsEverything) {
  post_here(from_one);
  matcher.refuses = true;
  part.progress();
  EXPECT_TRUE(from_one.posted);
  part.progress();
  EXPECT_TRUE(matcher.drain.is_all());
}

TEST_F(ProviderMatchingPart, MatchedMessageIsDelivered) {
  part.start(from_one);
  part.on_matched(from_one, message(5));
  EXPECT_THAT(receives.delivered, ElementsAre(&from_one));
  EXPECT_EQ(receives.tag, 5);
  EXPECT_EQ(counts.matched_by_provider, 1u);
}

TEST_F(ProviderMatchingPart, ReceiveWithForeignMessageStartsAgain) {
  part.start(from_one);
  part.on_matched(from_one, message(6));
  EXPECT_THAT(receives.delivered, IsEmpty());
  EXPECT_THAT(receives.restarted, ElementsAre(&from_one));
  EXPECT_EQ(counts.stale_dropped, 1u);
}

TEST_F(ProviderMatchingPart, CancelledReceiveEnds) {
  part.start(from_one);
  part.cancel(from_one);
  EXPECT_THAT(matcher.cancelled, ElementsAre(&from_one));
  part.on_cancelled(from_one);
  EXPECT_THAT(ends.receives, ElementsAre(&from_one));
  EXPECT_TRUE(from_one.outcome().cancelled);
}

TEST_F(ProviderMatchingPart, ProbeDrainsUnlessMessageCannotComeFromProvider) {
  EXPECT_TRUE(part.drain_for_probe(context, 1));
  EXPECT_TRUE(matcher.drain.is_all());
  EXPECT_FALSE(part.drain_for_probe(context, 0)) << "this process";
}

TEST_F(ProviderMatchingPart, UnknownLinkIsRequested) {
  EXPECT_TRUE(part.may_match(context, 2, Plane::user));
  EXPECT_THAT(receives.routes, ElementsAre(2));
}

}  // namespace
}  // namespace shim::p2p
