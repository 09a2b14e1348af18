// SPDX-License-Identifier: BSD-3-Clause
// Tests CollectiveFailures without an engine.
#include "shim/p2p/collective_failures.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Records which ranks a part reports as failed.
class RecordedRanks final : public FailedRanks {
 public:
  void record_failed_rank(Context&, int rank) override { ranks.push_back(rank); }
  void drop_unacknowledged(Context&) override {}
  void end_unsatisfiable(Context&) override {}
  std::vector<int> ranks;
};

/// A communicator of three processes at rank 0, with a receive of each plane and a send.
struct CollectiveFailuresPart : testing::Test {
  CollectiveFailuresPart() { contexts.add(context); }
  ~CollectiveFailuresPart() override {
    if (send.peer != nullptr) ends.end(send, std::nullopt);
    for (ReceiveRequest* each : {&of_user, &of_collective})
      if (each->posted) ends.end(*each, {}, std::nullopt);
    if (contexts.find(context.id) != nullptr) contexts.remove(context);
  }
  /// Return the ranks that got a notice with this class since the last call.
  std::vector<std::uint32_t> notified(base::ErrorClass error_class) {
    std::vector<std::uint32_t> ranks;
    for (const auto& each : std::exchange(output.sent, {})) {
      const auto notice = wire::read<wire::CollectivesFailed>(each.header);
      if (notice && notice->error_class == static_cast<int>(error_class))
        ranks.push_back(each.to->process.rank);
    }
    std::ranges::sort(ranks);
    return ranks;
  }
  wire::CollectivesFailed notice(base::ErrorClass error_class) const {
    wire::CollectivesFailed made;
    made.context = context.id;
    made.source = 2;
    made.error_class = static_cast<std::int32_t>(error_class);
    return made;
  }
  void start_send() {
    Peer& to = peers.at(context, 1);
    send.peer = &to;
    to.unfinished.push_back(send);
  }

  ToldRouter router;
  ContextTable contexts;
  Peers peers;
  IdTable<SendRequest> send_ids;
  RecordedOutput output;
  RecordedEnds ends;
  RecordedRanks failed;
  Engine::Counts counts;
  UnexpectedMessages unexpected{{0, 0}, 1 << 20, peers, output, counts};
  CollectiveFailures part{{.self = {0, 0},
                           .router = &router,
                           .single_copy = true,
                           .contexts = contexts,
                           .peers = peers,
                           .send_ids = send_ids,
                           .unexpected = unexpected,
                           .output = output,
                           .operations = ends,
                           .failed_ranks = failed,
                           .counts = counts}};
  Context context{nullptr, spec_of(3)};
  types::Buffer nothing{nullptr, 0, &types::byte_type()};
  ReceiveRequest of_user{nullptr, {&context, 1, 1, Plane::user}, nothing};
  ReceiveRequest of_collective{nullptr, {&context, 1, 1, Plane::collective}, nothing};
  SendRequest send{nullptr,
                   {&context, 1, 1, Plane::user},
                   {nullptr, 0, &types::byte_type()},
                   SendMode::standard};
};

const base::Error kNoMemory(base::ErrorClass::no_mem, "out of memory");

TEST_F(CollectiveFailuresPart, EndsCollectivesOnceAndNotifiesOtherMembers) {
  post(of_user);
  post(of_collective);
  part.end_collectives(context, kNoMemory);
  EXPECT_THAT(ends.receives, ElementsAre(&of_collective));
  EXPECT_EQ(of_collective.error()->text(), "out of memory");
  EXPECT_THAT(notified(base::ErrorClass::no_mem), ElementsAre(1, 2));
  part.end_collectives(context, kNoMemory);
  EXPECT_THAT(output.sent, IsEmpty());
}

TEST_F(CollectiveFailuresPart, DeadMemberGetsNoNotice) {
  router.dead = {2};
  part.end_collectives(context, kNoMemory);
  EXPECT_THAT(notified(base::ErrorClass::no_mem), ElementsAre(1));
}

TEST_F(CollectiveFailuresPart, NoticeOfDeathRecordsMemberAndIsForwarded) {
  auto death = notice(base::ErrorClass::proc_aborted);
  death.set_failed_process(wire::SenderNumber::of({0, 1}));
  part.on_collectives_failed(death);
  EXPECT_TRUE(context.collectives_have_failed);
  EXPECT_THAT(failed.ranks, ElementsAre(1));
  EXPECT_THAT(notified(base::ErrorClass::proc_aborted), ElementsAre(1, 2));
}

TEST_F(CollectiveFailuresPart, NoticeBeforeCommunicatorIsApplied) {
  Context later(nullptr, spec_of(3, 200));
  auto early = notice(base::ErrorClass::no_mem);
  early.context = later.id;
  part.on_collectives_failed(early);
  contexts.add(later);
  part.apply_early_notices(later);
  EXPECT_TRUE(later.collectives_have_failed);
  contexts.remove(later);
}

TEST_F(CollectiveFailuresPart, NoticeForEndedCommunicatorIsStale) {
  contexts.remove(context);
  part.on_collectives_failed(notice(base::ErrorClass::no_mem));
  EXPECT_EQ(counts.stale_dropped, 1u);
}

TEST_F(CollectiveFailuresPart, CallAfterRefusalFailsCollectivesIfCallsDiffer) {
  constexpr std::uint8_t kBarrier = 1, kBcast = 2;
  const int tag = context.numbers.next(kBarrier);
  wire::CallAfterRefusal call;
  call.context = context.id;
  call.source = 1;
  call.tag = tag;
  call.call = kBarrier;
  part.on_call_after_refusal(call);
  EXPECT_FALSE(context.collectives_have_failed);
  call.call = kBcast;
  part.on_call_after_refusal(call);
  EXPECT_TRUE(context.collectives_have_failed);
}

TEST_F(CollectiveFailuresPart, RefusalIsSentWithNextCall) {
  part.record_refusal(context, false, kNoMemory);
  EXPECT_TRUE(context.numbers.needs_call_check());
  part.check_call_number(context, context.numbers.next(1));
  std::size_t calls = 0;
  for (const auto& each : output.sent)
    calls += wire::read<wire::CallAfterRefusal>(each.header).has_value() ? 1u : 0u;
  EXPECT_EQ(calls, 2u);
  EXPECT_FALSE(context.numbers.needs_call_check());
}

TEST_F(CollectiveFailuresPart, RevocationEndsAllOperations) {
  post(of_user);
  post(of_collective);
  start_send();
  part.revoke(context);
  EXPECT_EQ(ends.receives.size(), 2u);
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  EXPECT_EQ(send.error()->error_class(), base::ErrorClass::revoked);
  EXPECT_THAT(notified(base::ErrorClass::revoked), ElementsAre(1, 2));
  EXPECT_EQ(context.known_peer(1), nullptr);
}

TEST_F(CollectiveFailuresPart, RevokedSendThatReceiverMayReadEndsWithAnswer) {
  StubTransport transport;
  start_send();
  transport.connect(*send.peer);
  send.is_long = true;
  send.id = send_ids.add(send);
  part.revoke(context);
  EXPECT_THAT(ends.sends, IsEmpty());
  EXPECT_TRUE(send.is_revoked);
  wire::Refused answer;
  answer.send = send.id;
  part.on_refused(answer);
  EXPECT_THAT(ends.sends, ElementsAre(&send));
  send_ids.remove(send.id);
}

TEST_F(CollectiveFailuresPart, RefusesAnnouncedMessagesOnly) {
  MessageInfo info{.number = 7, .origin = wire::SenderNumber::of({0, 1})};
  part.refuse(info);
  EXPECT_THAT(output.sent, IsEmpty());
  info.kind = wire::PacketType::ready_to_send;
  part.refuse(info);
  const auto refused = output.take<wire::Refused>(peers.at(context, 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->send, 7u);
}

}  // namespace
}  // namespace shim::p2p
