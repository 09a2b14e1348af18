// SPDX-License-Identifier: BSD-3-Clause
// Tests creations that receive invalid addresses or messages.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The published address is invalid: too short, of another kind, or too long. The creation that
/// needs it must fail.
TEST(InvalidAddress, FailsTheCreation) {
  for (const std::string_view wrong :
       {"x", "0123456789abcdef0",
        "a text that is much longer than any address of a process would be"}) {
    Cluster cluster(World::of(2, 2));
    ASSERT_TRUE(
        cluster.launcher().open(0)->publish(address_key(0), std::as_bytes(std::span(wrong))));
    Collected<std::string> errors;
    std::atomic<int> failed_so_far = 0;
    cluster.run({2, 3}, [&](Member& member) {
      errors.add(error_text(member.try_create({0, 2, 3}, "test.wrong_answer")));
      ++failed_so_far;
      // the node leader keeps its session until the other member has called and been notified
      auto waited = member.process().engine().wait_until([&] { return failed_so_far == 2; },
                                                         base::Deadline::after_seconds(20));
      EXPECT_TRUE(waited && *waited);
    });
    EXPECT_THAT(errors.values(), Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("launcher"),
                                            HasSubstr("address for process 0"))));
    EXPECT_EQ(errors.values().size(), 2u);
  }
}

/// The address of a child is needed only for a status request; its contribution has the right one.
TEST(InvalidAddress, OfAChildIsIgnoredInAStatusRequest) {
  Cluster cluster(World::of(2, 1));
  ASSERT_TRUE(cluster.launcher().open(1)->publish(address_key(0), std::vector(17, std::byte{7})));
  cluster.run([&](Member& member) {
    while (member.rank() == 1 && cluster.log().find("has waited") == std::string::npos)
      std::this_thread::yield();
    exercise(member.create_world("test.wrong_answer"), 1);
  });
}

/// A new look-up has sent no request yet. With a known address it usually never sends one.
TEST(LookupCounter, CountsProcessesLookedUpAtTheLauncher) {
  Cluster cluster(World::of(2, 1));
  cluster.run({0}, [](Member& member) {
    Process& process = member.process();
    auto known = process.peers().look_up({0, 1}, 0);
    EXPECT_TRUE(known.poll());
    EXPECT_EQ(process.peers().looked_up_count(), 0u);
    auto unknown = process.peers().look_up({0, 1});
    EXPECT_EQ(process.peers().looked_up_count(), 0u);
    EXPECT_TRUE(unknown.poll());
    EXPECT_TRUE(unknown.poll());
    EXPECT_EQ(process.peers().looked_up_count(), 1u);
  });
}

/// Return a table with equal entries for these ranks.
MemberTable table_of(std::initializer_list<int> ranks) {
  MemberTable table;
  for (const int rank : ranks) table.set(rank, {.context_base = 1});
  return table;
}

struct ForeignEntries {
  World world;
  int from, to;
  std::initializer_list<int> ranks;  ///< ranks in the contribution
};

/// A contribution must not replace entries of other senders or of the receiver.
TEST(DamagedMessages, ContributionAffectsOnlyMembersOfItsSender) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 5;
  for (const ForeignEntries& entries : {ForeignEntries{World::of(1, 3), 1, 0, {0, 1}},
                                        ForeignEntries{World::of(1, 3), 1, 0, {1, 2}},
                                        ForeignEntries{World::of(3, 1), 1, 0, {0, 1}},
                                        ForeignEntries{World::of(3, 1), 1, 0, {1, 2}},
                                        ForeignEntries{World::of(2, 2), 2, 0, {1, 2, 3}},
                                        ForeignEntries{World::of(4, 1), 3, 2, {2, 3}}}) {
    Cluster cluster(entries.world, settings);
    const std::string is_waiting = ":" + std::to_string(entries.to) +
                                   "] warn: communicator creation with tag \"test.overreach\"";
    cluster.run([&](Member& member) {
      exercise(member.create_world("test.before"), 1);
      if (member.rank() == entries.from) {
        while (cluster.log().find(is_waiting) == std::string::npos) std::this_thread::yield();
        const CreationKey key{
            "", "test.overreach", {{0, 0, static_cast<std::uint32_t>(cluster.size()), 1}}};
        ASSERT_TRUE(member.process().engine().send_control(
            {0, static_cast<std::uint32_t>(entries.to)},
            encode(ContributionMessage{key, table_of(entries.ranks)})));
      }
      EXPECT_EQ(error_text(member.try_create(cluster.all(), "test.overreach")), "");
    });
  }
}

TEST(DamagedMessages, AreIgnored) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    if (member.rank() == 1) {
      p2p::Engine& engine = member.process().engine();
      ASSERT_TRUE(engine.send_control({0, 0}, {}));
      ASSERT_TRUE(engine.send_control({0, 0}, std::vector<std::byte>(3, std::byte{255})));
      // valid messages, but for groups that this job cannot have
      for (const std::vector<ProcessRange>& ranges :
           {std::vector<ProcessRange>{{0, 0, 2'000'000'000, 1}},
            std::vector<ProcessRange>{{7, 0, 2, 1}}, std::vector<ProcessRange>{{0, 1, 1, 0}},
            std::vector<ProcessRange>{{0, 0, 2, 1}, {0, 0, 2, 1}}, std::vector<ProcessRange>{}}) {
        const CreationKey key{"", "test.damaged", ranges};
        ASSERT_TRUE(engine.send_control({0, 0}, encode(ContributionMessage{key, table_of({1})})));
        ASSERT_TRUE(engine.send_control({0, 0}, encode(StatusRequest{key, 0, 0, {}})));
        ASSERT_TRUE(engine.send_control(
            {0, 0}, encode(FailureMessage{key, 0, base::ErrorClass::other, "?", {}})));
      }
      // for the right group, but with ranks outside it
      const CreationKey key{"", "test.damaged", {{0, 0, 2, 1}}};
      ASSERT_TRUE(engine.send_control({0, 0}, encode(ContributionMessage{key, table_of({1, 77})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(ContributionMessage{key, table_of({-1, 1})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(ContributionMessage{key, table_of({0})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(OutcomeMessage{key, {}, 0, {}})));
    }
    exercise(member.create_world("test.damaged"), 1);
  });
  EXPECT_THAT(cluster.log(),
              HasSubstr("invalid message of process 1 about a communicator creation"));
}

}  // namespace
}  // namespace shim::sessions::testing
