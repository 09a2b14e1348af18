// SPDX-License-Identifier: BSD-3-Clause
// Tests creations that have failed before a late member calls: it must get the error at any time.
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

/// Time limit in seconds: a late member that is not notified fails with this timeout instead.
constexpr double kTimeout = 10;

base::Settings settings_with_long_timeout() {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = kTimeout;
  return settings;
}

base::Settings settings_with_short_timeout() {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  return settings;
}

/// Wait until another member has failed, then begin a new session with the long timeout.
void join_late(Cluster& cluster, Member& member, const std::atomic<int>& failed_so_far) {
  while (failed_so_far == 0) std::this_thread::yield();
  member.end();
  cluster.next_settings().create_timeout = kTimeout;
  member.begin();
}

/// Keep the session and respond to messages until the condition holds.
template <typename Condition>
void answer_until(Member& member, Condition condition) {
  auto waited = member.process().engine().wait_until(condition,
                                                     base::Deadline::after_seconds(2 * kTimeout));
  EXPECT_TRUE(waited && *waited);
}

/// The node leader of the other node does not know the leader's address when its creation fails.
TEST(LateLeader, GetsTheErrorOfADeadMember) {
  Cluster cluster(World::of(2, 2), settings_with_long_timeout());
  Victim victim(cluster, 3);
  std::atomic<int> failed_so_far = 0;
  Collected<std::string> errors;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos)
      std::this_thread::yield();  // until a member has reported its wait
    victim.end();
  });
  cluster.run({0, 1, 2}, [&](Member& member) {
    while (member.rank() != 2 && failed_so_far == 0) std::this_thread::yield();
    errors.add(error_text(member.try_create(cluster.all(), "test.dead")));
    ++failed_so_far;
    answer_until(member, [&] { return failed_so_far == 3; });
    exercise(member.create({0, 1, 2}, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(errors.values().size(), 3u);
  EXPECT_THAT(errors.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_PROC_ABORTED"),
                                                     HasSubstr("process 3 (rank 3"))));
}

/// The node leader of the other node died before it was found. Its substitute does not know the
/// leader's address. It notifies the leader after it has found the address in its next creation.
TEST(LateLeader, GetsTheErrorOfADeadNodeLeader) {
  Cluster cluster(World::of(2, 2), settings_with_long_timeout());
  Victim victim(cluster, 2);
  std::atomic<bool> has_failed = false;
  Collected<std::string> errors;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos)
      std::this_thread::yield();  // until a member has reported its wait
    victim.end();
  });
  cluster.run({0, 1, 3}, [&](Member& member) {
    while (member.rank() != 3 && !has_failed) std::this_thread::yield();
    errors.add(error_text(member.try_create(cluster.all(), "test.dead")));
    has_failed = true;
    exercise(member.create({0, 1, 3}, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(errors.values().size(), 3u);
  EXPECT_THAT(errors.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_PROC_ABORTED"),
                                                     HasSubstr("process 2 (rank 2"))));
}

/// Members of one node disagree while the leader, on another node, has not called yet. GetParam():
/// the leader was known from its previous session, and re-initializes.
class LateLeaderKnown : public ::testing::TestWithParam<bool> {};

TEST_P(LateLeaderKnown, GetsTheErrorOfADisagreement) {
  const bool was_known = GetParam();
  Cluster cluster(World::of(2, 2), settings_with_long_timeout());
  std::atomic<int> ended = 0, failed_so_far = 0;
  Collected<std::string> errors;
  cluster.run([&](Member& member) {
    const bool is_late = member.rank() < 2;
    if (was_known) exercise(member.create_world("test.before"), 1);
    if (is_late) member.end();
    ended += is_late;
    if (is_late) {
      while (failed_so_far < 2) std::this_thread::yield();
      member.begin();
    } else {
      answer_until(member, [&] { return ended == 2; });
    }
    const Ranks mine = member.rank() == 3 ? Ranks{0, 2, 3} : cluster.all();
    errors.add(error_text(member.try_create(mine, "test.other_group")));
    ++failed_so_far;
    answer_until(member, [&] { return failed_so_far == 4; });
    exercise(member.create_world("test.after"), 1);
  });
  EXPECT_EQ(errors.values().size(), 4u);
  EXPECT_THAT(errors.values(), Each(::testing::AllOf(StartsWith("MPI_ERR_NOT_SAME"),
                                                     HasSubstr("disagree on the group"))));
}

INSTANTIATE_TEST_SUITE_P(KnownBefore, LateLeaderKnown, ::testing::Bool());

TEST(LateLeader, GetsTheErrorOfATimeout) {
  Cluster cluster(World::of(2, 1), settings_with_short_timeout());
  std::atomic<int> failed_so_far = 0;
  cluster.run([&](Member& member) {
    if (member.rank() == 0) join_late(cluster, member, failed_so_far);
    EXPECT_THAT(error_text(member.try_create({0, 1}, "test.given_up")),
                ::testing::AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("timed out after 0.2 s"),
                                 HasSubstr("process 0 (rank 0")));
    ++failed_so_far;
    answer_until(member, [&] { return failed_so_far == 2; });
  });
}

/// A notified leader is not notified again: its next call is a new attempt.
TEST(LateLeader, CanTryAgainAfterTheError) {
  Cluster cluster(World::of(2, 1), settings_with_short_timeout());
  std::atomic<int> failed_so_far = 0;
  cluster.run([&](Member& member) {
    if (member.rank() == 0) join_late(cluster, member, failed_so_far);
    EXPECT_NE(error_text(member.try_create({0, 1}, "test.again")), "");
    ++failed_so_far;
    if (member.rank() == 1) {
      // responds to the leader's status requests for the second attempt before it calls
      answer_until(member, [&] {
        return cluster.log().find("is not in any creation") != std::string::npos;
      });
    }
    exercise(member.create({0, 1}, "test.again"), 1);
  });
}

}  // namespace
}  // namespace shim::sessions::testing
