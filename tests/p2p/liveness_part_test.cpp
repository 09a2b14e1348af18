// SPDX-License-Identifier: BSD-3-Clause
// Tests Liveness without an engine.
#include "shim/p2p/liveness.hpp"

#include <gmock/gmock.h>

#include "shim/p2p/context_failures.hpp"
#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records what a check makes other parts do.
class RecordedEffects final : public CollectiveEnder, public FailedRanks, public LivenessActions {
 public:
  void end_collectives(Context&, const base::Error& reason) override {
    reasons.push_back(reason.text());
  }
  void record_failed_rank(Context&, int rank) override { ranks.push_back(rank); }
  void drop_unacknowledged(Context&) override {}
  void end_unsatisfiable(Context&) override { ++ends; }
  void complete_overdue() override { ++checks; }
  base::Status open_link(Peer&, Route) override { return {}; }
  int poll_all(base::Status&) override { return 0; }
  std::vector<std::string> reasons;
  std::vector<int> ranks;
  int ends = 0, checks = 0;
};

/// A communicator of three processes, at rank 0, and a link to rank 1.
struct LivenessPart : testing::Test {
  LivenessPart() {
    contexts.add(context);
    transports.add(transport);
    transport.connect(one);
  }
  ~LivenessPart() override {
    if (receive.posted) ends.end(receive, {}, std::nullopt);
    contexts.remove(context);
  }
  void start_send() {
    send.peer = &one;
    one.unfinished.push_back(send);
  }
  const base::Error reason = died_error({0, 1});

  ToldRouter router;
  EngineLock lock;
  Transports transports;
  StubTransport transport;
  ContextTable contexts;
  Peers peers;
  RecordedEnds ends;
  RecordedEffects effects;
  Liveness part{{.self = {0, 0},
                 .router = &router,
                 .log = nullptr,
                 .may_match_in_provider = false,
                 .lock = lock,
                 .transports = transports,
                 .contexts = contexts,
                 .peers = peers,
                 .operations = ends,
                 .collectives = effects,
                 .failed_ranks = effects,
                 .actions = effects}};
  Context context{nullptr, spec_of(3)};
  Peer& one = peers.at(context, 1);
  ReceiveRequest receive{nullptr, {&context, 1, 1}, {nullptr, 0, &types::byte_type()}};
  SendRequest send{
      nullptr, {&context, 1, 1}, {nullptr, 0, &types::byte_type()}, SendMode::standard};
};

TEST_F(LivenessPart, CheckFailsDeadProcessThatReceiveDependsOn) {
  router.dead = {1, 2};
  post(receive);
  part.check();
  EXPECT_EQ(one.failure->error_class(), base::ErrorClass::proc_aborted);
  EXPECT_EQ(context.failed, 1) << "no operation depends on process 2";
  EXPECT_THAT(effects.ranks, ElementsAre(1));
  EXPECT_EQ(effects.reasons.size(), 1u);
  EXPECT_EQ(effects.ends, 1);
  EXPECT_EQ(peers.find({0, 1}), nullptr);
}

TEST_F(LivenessPart, CheckFailsDeadProcessThatThreadAwaits) {
  router.dead = {2};
  {
    const Liveness::AwaitedSource awaited(part, {&context, 2, 1});
    part.check();
  }
  EXPECT_THAT(effects.ranks, ElementsAre(2));
}

TEST_F(LivenessPart, ChecksOncePerInterval) {
  EXPECT_TRUE(part.is_due());
  part.check();
  EXPECT_FALSE(part.is_due());
  post(receive);
  router.dead = {1};
  part.check();
  EXPECT_EQ(effects.checks, 1);
  EXPECT_FALSE(one.failure);
}

TEST_F(LivenessPart, FailureEndsOperationsWithPeer) {
  start_send();
  receive.peer = &one;
  one.incoming.push_back(receive);
  part.fail(one, reason);
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_THAT(ends.receives, ElementsAre(&receive));
  EXPECT_EQ(send.error()->text(), reason.text());
  EXPECT_EQ(receive.error()->text(), reason.text());
  ASSERT_NE(part.link_failure_reason({0, 1}), nullptr);
  EXPECT_EQ(part.link_failure_reason({0, 1})->text(), reason.text());
}

TEST_F(LivenessPart, SendThatHadLeftEndsWithoutError) {
  start_send();
  send.was_sent = true;
  part.fail(one, reason);
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_EQ(send.error(), nullptr);
}

TEST_F(LivenessPart, MemberThatFinalizedEndsNoCollectives) {
  start_send();
  transport.notice = transport::ShutdownNotice::received;
  part.fail_link(one, reason);
  EXPECT_THAT(effects.reasons, IsEmpty());
  EXPECT_THAT(effects.ranks, IsEmpty());
  EXPECT_EQ(effects.ends, 1) << "receives from it end";
}

TEST_F(LivenessPart, MemberWithoutShutdownNoticeHasDied) {
  start_send();
  transport.notice = transport::ShutdownNotice::missing;
  part.fail_link(one, reason);
  EXPECT_EQ(effects.reasons.size(), 1u);
  EXPECT_THAT(effects.ranks, ElementsAre(1));
}

TEST_F(LivenessPart, RejectedPacketEndsOperationsAndKeepsLink) {
  start_send();
  part.on_send_error(one, {base::ErrorClass::no_mem, "out of memory"});
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_FALSE(one.failure);
  EXPECT_EQ(part.link_failure_reason({0, 1}), nullptr);
}

TEST_F(LivenessPart, WatchedProcessThatLeavesIsGone) {
  Progress::Watched watched{{0, 2}};
  part.watch(watched);
  router.left = {2};
  part.check();
  EXPECT_TRUE(watched.is_gone);
  part.unwatch(watched);
}

TEST_F(LivenessPart, CheckOfMembersFindsDeathWithoutOperation) {
  router.dead = {2};
  static_cast<void>(part.check_members(context));
  EXPECT_THAT(effects.ranks, ElementsAre(2));
  EXPECT_FALSE(one.failure);
}

TEST_F(LivenessPart, ReinitializedProcessGetsNewRecordAndFailsNoMember) {
  part.reset_peer({0, 1}, reason);
  EXPECT_EQ(peers.find({0, 1}), nullptr);
  EXPECT_THAT(effects.ranks, IsEmpty());
}

}  // namespace
}  // namespace shim::p2p
