// SPDX-License-Identifier: BSD-3-Clause
// Tests agreement and shrinking on one node and on two nodes.
#include <gmock/gmock.h>

#include "cluster.hpp"
#include "shim/sessions/intercommunicator.hpp"
#include "shim/sessions/survivors.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Survivors : public ::testing::TestWithParam<World> {
 protected:
  Cluster cluster{GetParam()};
};

TEST_P(Survivors, AgreeOnTheBitwiseAndOfTheirFlags) {
  Collected<std::int32_t> flags;
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create_world("test.agree");
    for (int i = 0; i < 50; ++i) {
      std::int32_t flag = ~(1 << (member.rank() + i) % 31);
      EXPECT_TRUE(agree(comm, flag));
      if (i == 7) flags.add(flag);
    }
    exercise(comm, 1);
  });
  EXPECT_THAT(flags.values(), Each(~(0xf << 7)));
}

TEST_P(Survivors, MakeACommunicatorOfAllIfNoneHasFailed) {
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create_world("test.shrink");
    revoke(*comm);
    auto shrunk = shrink(comm);
    ASSERT_TRUE(shrunk) << shrunk.error().text();
    EXPECT_EQ(*(*shrunk)->group(), *comm->group());
    exercise(*shrunk, 1);
  });
}

/// A member that finalizes without calling counts as failed, because agreement cannot wait for it.
TEST_P(Survivors, ContinueWithoutAMemberThatHasFinalized) {
  Collected<std::vector<int>> sizes;
  cluster.run([&](Member& member) {
    CommunicatorPtr comm = member.create_world("test.leave");
    if (member.rank() == 0) {
      comm.reset();
      return member.end();
    }
    std::int32_t flag = 1 << member.rank() | 1;
    const base::Status agreed = agree(comm, flag);
    ASSERT_FALSE(agreed);
    EXPECT_EQ(agreed.error().error_class(), base::ErrorClass::proc_failed);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(acknowledge_failed(*comm, 1), 1);
    EXPECT_TRUE(agree(comm, flag));
    auto shrunk = shrink(comm);
    ASSERT_TRUE(shrunk) << shrunk.error().text();
    exercise(*shrunk, 1);
    sizes.add(
        {(*shrunk)->size(), failed_members(*comm)->size(), acknowledged_members(*comm)->size()});
  });
  EXPECT_THAT(sizes.values(), Each(ElementsAre(3, 1, 1)));
}

TEST_P(Survivors, KeepTheOrderOfRanks) {
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create({3, 1, 0, 2}, "test.order");
    auto shrunk = shrink(comm);
    ASSERT_TRUE(shrunk);
    EXPECT_EQ((*shrunk)->rank(), comm->rank());
    exercise(*shrunk, 1);
  });
}

/// Wait until this process keeps no decisions for others.
void expect_nothing_kept(const Member& member) {
  Process& process = member.process();
  EXPECT_TRUE(process.engine().wait_until([&] { return process.consensuses().kept() == 0; },
                                          base::Deadline::after_seconds(20)));
  EXPECT_EQ(process.consensuses().kept(), 0u);
}

TEST_P(Survivors, DiscardDecisionsThatAllHave) {
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create_world("test.forget");
    for (int i = 0; i < 30; ++i) {
      std::int32_t flag = i;
      EXPECT_TRUE(agree(comm, flag));
    }
    EXPECT_TRUE(shrink(comm));
    expect_nothing_kept(member);
    exercise(comm, 1);
  });
}

TEST_P(Survivors, MayHaveManyAgreementsOutstanding) {
  constexpr int kCount = 100;
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create_world("test.many");
    std::vector<std::int32_t> flags(kCount);
    std::vector<p2p::Request*> requests;
    for (int i = 0; i < kCount; ++i) {
      flags[i] = i << 4 | 1 << member.rank() % 4;
      requests.push_back(begin_agree(comm, &flags[i]));
    }
    for (int i = kCount - 1; i >= 0; --i) {
      EXPECT_TRUE(member.process().engine().wait_until([&] { return requests[i]->is_done(); }));
      EXPECT_EQ(flags[i], i << 4);
      member.process().engine().release(requests[i]);
    }
    expect_nothing_kept(member);
  });
}

/// The coordinator sends the decision to one member only, and fails. The other member gets it much
/// later.
TEST_P(Survivors, KeepADecisionForAMemberThatHasNotReceivedIt) {
  const ConsensusKey key{"test", 0};
  const std::vector<std::uint32_t> members = {0, 1, 2};
  cluster.run({0, 1, 2}, [&](Member& member) {
    const CommunicatorPtr comm = member.create({0, 1, 2}, "test.keep");
    const CommunicatorPtr pair = member.rank() == 0 ? nullptr
                                                    : member.create({1, 2}, "test.keep.pair");
    if (member.rank() == 0) return;
    Consensuses& consensuses = member.process().consensuses();
    if (member.rank() == 1) {
      const ConsensusPtr mine = consensuses.begin(key, members, {.flag = 6});
      Decision decision;
      decision.votes[0] = {.flag = 4};
      consensuses.on_message({0, 0}, encode({.kind = ConsensusMessage::Type::decide,
                                             .key = key,
                                             .coordinator = 0,
                                             .decision = decision}));
      ASSERT_NE(consensuses.advance(mine), nullptr);
      const CommunicatorPtr self = member.create({1}, "test.keep.self");
      for (int i = 0; i < 300; ++i) {
        std::int32_t flag = 1;
        EXPECT_TRUE(agree(self, flag));
      }
    }
    exercise(pair, 1);
    if (member.rank() == 2) {
      const ConsensusPtr mine = consensuses.begin(key, members, {.flag = 2});
      const Decision* decision = nullptr;
      EXPECT_TRUE(member.process().engine().wait_until(
          [&] { return (decision = consensuses.advance(mine)) != nullptr; },
          base::Deadline::after_seconds(20)));
      ASSERT_NE(decision, nullptr);
      EXPECT_EQ(decision->votes.at(0).flag, 4);
    }
    exercise(pair, 2);
  });
}

/// The group of failed members that the program sees only grows at its end.
TEST_P(Survivors, AcknowledgeInTheOrderOfFailures) {
  cluster.run([&](Member& member) {
    const bool is_first = member.rank() < 2;
    const Ranks own = is_first ? Ranks{0, 1} : Ranks{2, 3},
                others = is_first ? Ranks{2, 3} : Ranks{0, 1};
    auto made = intercomm_create_from_groups(member.session(), member.group(own), 0,
                                             member.group(others), "test.order", nullptr, nullptr);
    ASSERT_TRUE(made) << made.error().text();
    const CommunicatorPtr comm = *made;
    comm->engine().record_failed_rank(comm->local()->context(), 1);
    const GroupPtr first = failed_members(*comm);
    EXPECT_EQ(*first, *member.group({own[1]}));
    comm->engine().record_failed_rank(comm->context(), 0);
    EXPECT_EQ(*failed_members(*comm), *member.group({own[1], others[0]}));
    EXPECT_EQ(acknowledge_failed(*comm, 1), 1);
    EXPECT_EQ(*acknowledged_members(*comm), *first);
    EXPECT_EQ(acknowledge_failed(*comm, 0), 1);
    EXPECT_EQ(acknowledge_failed(*comm, 2), 2);
  });
}

/// A transport without packets whose polls fail if a test says so.
class FailingTransport final : public transport::Transport {
 public:
  std::string_view name() const override { return "failing"; }
  transport::Reach reach() const override { return transport::Reach::node; }
  std::size_t max_packet_bytes() const override { return 1024; }
  transport::Bytes address() const override { return {}; }
  base::Result<transport::Link*> open(transport::ConstSpan) override { return error(); }
  base::Result<transport::Attempt> try_send(transport::Link&, transport::ConstSpan,
                                            transport::ConstSpan) override {
    return transport::Attempt::again;
  }
  base::Result<int> poll(transport::Sink&) override {
    if (is_failing) return error();
    return 0;
  }
  bool is_flushed() const override { return true; }
  const Counts& counts() const override { return counts_; }

  bool is_failing = false;

 private:
  static base::Error error() { return {base::ErrorClass::other, "the transport fails"}; }
  Counts counts_;
};

/// The other members may send to the context base of its vote.
TEST_P(Survivors, ShrinkThatFailsKeepsNoContextBase) {
  constexpr int kFailing = 3;
  FailingTransport transport;
  cluster.run([&](Member& member) {
    const CommunicatorPtr comm = member.create_world("test.failing");
    if (member.rank() != kFailing) {
      EXPECT_TRUE(shrink(comm));
      return;
    }
    Process& process = member.process();
    process.engine().add_transport(transport);
    transport.is_failing = true;
    const auto shrunk = shrink(comm);
    transport.is_failing = false;
    ASSERT_FALSE(shrunk);
    EXPECT_EQ(shrunk.error().text(), "the transport fails");
    const std::uint32_t next = process.context_ids().take_base();
    process.vcis().skip_base(next);
    EXPECT_TRUE(process.vcis().all_engines()->ended_bases()->contains(next - 1));
  });
}

INSTANTIATE_TEST_SUITE_P(Nodes, Survivors, ::testing::Values(World::of(1, 4), World::of(2, 2)),
                         [](const auto& world) {
                           return world.index == 0 ? "OneNode" : "TwoNodes";
                         });

}  // namespace
}  // namespace shim::sessions::testing
