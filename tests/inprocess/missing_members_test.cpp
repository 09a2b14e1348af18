// SPDX-License-Identifier: BSD-3-Clause
// Tests creations that members do not call: the others report them, and get an error in the end.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class MissingMembers : public ::testing::TestWithParam<World> {};

TEST_P(MissingMembers, AreNamedAfterTheTimeout) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 1;  // also the time limit of the second creation
  Cluster cluster(GetParam(), settings);
  for (int missing : {3, 0}) {
    Ranks present = cluster.all();
    present.erase(std::find(present.begin(), present.end(), missing));
    Collected<std::string> errors;
    const auto begin = base::now_ns();
    cluster.run(present, [&](Member& member) {
      errors.add(error_text(member.try_create(cluster.all(), "test.missing")));
      exercise(member.create(present, "test.present"), 1);
    });
    EXPECT_LT(base::now_ns() - begin, 20'000'000'000)
        << "a process that ends must not wait for one without a session";
    EXPECT_EQ(errors.values().size(), 3u);
    EXPECT_THAT(errors.values(), Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("test.missing"),
                                            HasSubstr("CREATE_TIMEOUT"))));
    // Members that wait directly for the missing one name it. The others get its name from them,
    // unless the missing member would have had to forward it.
    const std::string name = "process " + std::to_string(missing) + " (rank";
    if (missing == 3) {
      EXPECT_THAT(errors.values(), Each(HasSubstr(name)));
    } else {
      EXPECT_THAT(errors.values(), ::testing::Contains(HasSubstr(name)));
    }
    EXPECT_THAT(cluster.log(), HasSubstr("has waited"));
  }
}

TEST_P(MissingMembers, GetTheErrorIfTheyCallLate) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  Cluster cluster(GetParam(), settings);
  std::atomic<int> timed_out = 0;
  Collected<std::string> errors;
  cluster.run([&](Member& member) {
    // this member has a session, makes no progress, and calls after the others have timed out
    if (member.rank() == 3) {
      while (timed_out < 3) std::this_thread::yield();
    }
    errors.add(error_text(member.try_create(cluster.all(), "test.too_late")));
    ++timed_out;
    // The others keep their sessions until the late member has been notified.
    auto waited = member.process().engine().wait_until([&] { return timed_out == 4; },
                                                       base::Deadline::after_seconds(20));
    EXPECT_TRUE(waited && *waited);
    exercise(member.create_world("test.after"), 1);
  });
  EXPECT_THAT(errors.values(), Each(StartsWith("MPI_ERR_OTHER")));
}

TEST_P(MissingMembers, SecondAttemptWithTheSameTagSucceeds) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  Cluster cluster(GetParam(), settings);
  std::atomic<int> timed_out = 0;
  cluster.run([&](Member& member) {
    if (member.rank() != 3) {
      EXPECT_NE(error_text(member.try_create(cluster.all(), "test.retry")), "");
      ++timed_out;
    }
    auto waited = member.process().engine().wait_until([&] { return timed_out == 3; },
                                                       base::Deadline::after_seconds(20));
    ASSERT_TRUE(waited && *waited);
    auto created = member.try_create(cluster.all(), "test.retry");
    if (!created && member.rank() == 3)
      // the first call has returned the error of the first attempt
      created = member.try_create(cluster.all(), "test.retry");
    ASSERT_TRUE(created) << created.error().text();
    exercise(*created, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, MissingMembers, ::testing::ValuesIn(worlds_of_four()));

TEST(CreationReport, NamesMembersWithoutSessionAndTheirWaiters) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(2, 2), settings);
  cluster.run({0, 1, 2}, [&](Member& member) {
    EXPECT_NE(error_text(member.try_create(cluster.all(), "test.report")), "");
  });
  const std::string excluded = "process 3 (rank 3 of the group, node node1, has no session)";
  EXPECT_THAT(cluster.log(), HasSubstr("node1:2] warn: communicator creation with tag "
                                       "\"test.report\" over group {0-3} has waited"));
  EXPECT_THAT(cluster.log(), HasSubstr("for " + excluded));
  EXPECT_THAT(
      cluster.log(),
      HasSubstr("process 2 (rank 2 of the group, node node1), which has called and waits for " +
                excluded));
  EXPECT_THAT(
      cluster.log(),
      ContainsRegex(
          "has no session\\); either it has not opened a session, or .* \\([0-9.e-]+ s ago\\)"));
}

TEST(CreationReport, NamesSilentMembers) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(2, 1), settings);
  cluster.run({0}, [](Member& member) {
    EXPECT_NE(error_text(member.try_create({0, 1}, "test.alone")), "");
  });
  EXPECT_THAT(cluster.log(),
              HasSubstr("process 1 (rank 1 of the group, node node1), no message received yet"));
}

TEST(CreationReport, NamesWhereOthersWait) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(1, 3), settings);
  cluster.run({0, 1}, [](Member& member) {
    const Ranks mine = {member.rank(), member.rank() + 1};
    EXPECT_NE(
        error_text(member.try_create(mine, member.rank() == 0 ? "test.here" : "test.elsewhere")),
        "");
  });
  EXPECT_THAT(cluster.log(),
              HasSubstr("which waits in the creation with tag \"test.elsewhere\" over {1-2}"));
}

TEST(CreationReport, RepeatsUntilLateMemberJoins) {
  constexpr double kInterval = 0.5;
  for (const World& world : {World::of(1, 3), World::of(3, 1)}) {
    base::Settings settings = Cluster::settings();
    settings.report_after = kInterval;
    Cluster cluster(world, settings);
    const std::string report =
        "node0:0] warn: communicator creation with tag \"test.late\" over group {0-2} has waited";
    cluster.run([&](Member& member) {
      while (member.rank() == 2 && count_of(report, cluster.log()) < 2) std::this_thread::yield();
      exercise(member.create_world("test.late"), 1);
      if (member.rank() == 1) return;
      const int before = count_of("over group {0-2} has waited", cluster.log());
      auto waited = member.process().engine().wait_until(
          [] { return false; }, base::Deadline::after_seconds(3 * kInterval));
      EXPECT_TRUE(waited && !*waited);
      EXPECT_EQ(count_of("over group {0-2} has waited", cluster.log()), before);
    });
    EXPECT_GE(count_of(report, cluster.log()), 2);
    EXPECT_THAT(cluster.log(), ContainsRegex("has waited 0\\.5[0-9.]* s for process 2 "));
    EXPECT_THAT(cluster.log(), ContainsRegex("has waited 1(\\.[0-9]+)? s for process 2 "));
  }
}

TEST(CreationReport, CanBeDisabled) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.5;
  settings.report_after = 0;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run({0}, [](Member& member) {
    EXPECT_NE(error_text(member.try_create({0, 1}, "test.silent")), "");
  });
  EXPECT_EQ(cluster.log(), "");
}

class SilentLauncher : public ::testing::TestWithParam<std::string> {};

/// With each exchange strategy, and each kind of request that the launcher never answers.
TEST_P(SilentLauncher, TimesOutTheCreation) {
  using bootstrap::inmem::Fault;
  using bootstrap::inmem::LauncherCall;
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.4;
  settings.exchange = GetParam();
  Cluster cluster(World::of(2, 2), settings);
  for (const auto silent :
       {LauncherCall::Type::lookup, LauncherCall::Type::publish, LauncherCall::Type::fence}) {
    if (silent == LauncherCall::Type::fence && GetParam() != "fence") continue;
    cluster.launcher().set_faults([&](const LauncherCall& operation) {
      return operation.kind == silent ? Fault::never() : Fault{};
    });
    Collected<std::string> errors;
    cluster.run([&](Member& member) {
      errors.add(error_text(member.try_create(cluster.all(), "test.silent_launcher")));
    });
    EXPECT_EQ(errors.values().size(), 4u);
    EXPECT_THAT(errors.values(),
                Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("test.silent_launcher"),
                           HasSubstr("CREATE_TIMEOUT"))));
  }
  cluster.launcher().set_faults([](const LauncherCall&) { return Fault{}; });
  cluster.run([&](Member& member) { exercise(member.create_world("test.after"), 1); });
}

INSTANTIATE_TEST_SUITE_P(Strategies, SilentLauncher, ::testing::Values("modex", "ring", "fence"));

}  // namespace
}  // namespace shim::sessions::testing
