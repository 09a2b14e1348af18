// SPDX-License-Identifier: BSD-3-Clause
// Creations that have failed before a member calls them: it is told, however long ago that was.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "cluster.hpp"
#include "victim.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Who is not told waits so long, and is told that.
constexpr double kGivesUp = 10;

base::Settings patient() {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = kGivesUp;
  return settings;
}

base::Settings impatient() {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  return settings;
}

/// When somebody has been told of a failure, in a new session, which is patient.
void come_late(Cluster& cluster, Member& member, const std::atomic<int>& told_so_far) {
  while (told_so_far == 0) std::this_thread::yield();
  member.end();
  cluster.next_settings().create_timeout = kGivesUp;
  member.begin();
}

/// Keeps its session, and answers, until the condition holds.
template <typename Condition>
void answer_until(Member& member, Condition condition) {
  auto waited = member.process().engine().wait_until(condition, base::Deadline::after_seconds(2 * kGivesUp));
  EXPECT_TRUE(waited && *waited);
}

/// The other node's root does not know where the leader is when its creation fails.
TEST(Late, LeaderIsToldThatAMemberHadDied) {
  Cluster cluster(World::of(2, 2), patient());
  Victim victim(cluster, 3);
  std::atomic<int> told_so_far = 0;
  Collected<std::string> heard;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos) std::this_thread::yield();  // somebody has waited
    victim.end();
  });
  cluster.run({0, 1, 2}, [&](Member& member) {
    while (member.rank() != 2 && told_so_far == 0) std::this_thread::yield();
    heard.add(told(member.try_create(cluster.all(), "test.dead")));
    ++told_so_far;
    answer_until(member, [&] { return told_so_far == 3; });
    exercise(member.create({0, 1, 2}, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(heard.values().size(), 3u);
  EXPECT_THAT(heard.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr("process 3 (rank 3"))));
}

/// The root of the other node died before it could be found. Who stands in for it does not know where the leader is; it tells it when it has
/// found it, in its next creation.
TEST(Late, LeaderIsToldThatANodesRootHadDied) {
  Cluster cluster(World::of(2, 2), patient());
  Victim victim(cluster, 2);
  std::atomic<bool> was_told = false;
  Collected<std::string> heard;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos) std::this_thread::yield();  // somebody has waited
    victim.end();
  });
  cluster.run({0, 1, 3}, [&](Member& member) {
    while (member.rank() != 3 && !was_told) std::this_thread::yield();
    heard.add(told(member.try_create(cluster.all(), "test.dead")));
    was_told = true;
    exercise(member.create({0, 1, 3}, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(heard.values().size(), 3u);
  EXPECT_THAT(heard.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr("process 2 (rank 2"))));
}

/// Of another node, while its leader has not come; or has ended the session in which it was known, and begins anew.
class LateLeader : public ::testing::TestWithParam<bool> {};

TEST_P(LateLeader, IsToldThatMembersHadDisagreed) {
  const bool have_met = GetParam();
  Cluster cluster(World::of(2, 2), patient());
  std::atomic<int> ended = 0, told_so_far = 0;
  Collected<std::string> heard;
  cluster.run([&](Member& member) {
    const bool is_late = member.rank() < 2;
    if (have_met) exercise(member.create_world("test.before"), 1);
    if (is_late) member.end();
    ended += is_late;
    if (is_late) {
      while (told_so_far < 2) std::this_thread::yield();
      member.begin();
    } else {
      answer_until(member, [&] { return ended == 2; });
    }
    const Ranks mine = member.rank() == 3 ? Ranks{0, 2, 3} : cluster.all();
    heard.add(told(member.try_create(mine, "test.other_group")));
    ++told_so_far;
    answer_until(member, [&] { return told_so_far == 4; });
    exercise(member.create_world("test.after"), 1);
  });
  EXPECT_EQ(heard.values().size(), 4u);
  EXPECT_THAT(heard.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the group"))));
}

INSTANTIATE_TEST_SUITE_P(KnownBefore, LateLeader, ::testing::Bool());

TEST(Late, LeaderIsToldThatOthersHadGivenUp) {
  Cluster cluster(World::of(2, 1), impatient());
  std::atomic<int> told_so_far = 0;
  cluster.run([&](Member& member) {
    if (member.rank() == 0) come_late(cluster, member, told_so_far);
    EXPECT_THAT(told(member.try_create({0, 1}, "test.given_up")),
                ::testing::AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("given up after 0.2 s"), HasSubstr("process 0 (rank 0")));
    ++told_so_far;
    answer_until(member, [&] { return told_so_far == 2; });
  });
}

/// Who has been told is not told again: a new attempt is one.
TEST(Late, LeaderThatWasToldCanTryAgain) {
  Cluster cluster(World::of(2, 1), impatient());
  std::atomic<int> told_so_far = 0;
  cluster.run([&](Member& member) {
    if (member.rank() == 0) come_late(cluster, member, told_so_far);
    EXPECT_NE(told(member.try_create({0, 1}, "test.again")), "");
    ++told_so_far;
    if (member.rank() == 1) {  // answers the leader's questions about its second attempt before it comes
      answer_until(member, [&] { return cluster.log().find("is not in any creation") != std::string::npos; });
    }
    exercise(member.create({0, 1}, "test.again"), 1);
  });
}

}  // namespace
}  // namespace shim::sessions::testing
