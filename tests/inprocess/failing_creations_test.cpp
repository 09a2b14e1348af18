// SPDX-License-Identifier: BSD-3-Clause
// Tests creations that cannot succeed because members disagree, do not call, or die. No member may
// hang, all members must get an error that names the reason, and all must be able to continue.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation_wire.hpp"
#include "shim/sessions/creations.hpp"
#include "shim/sessions/topology_comm.hpp"
#include "victim.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const World kWorlds[] = {World::of(1, 4), World::of(2, 2), World::dealt(2, 4), World::of(4, 1)};

class Disagreement : public ::testing::TestWithParam<World> {};

TEST_P(Disagreement, OnTheGroupIsReportedToAll) {
  Cluster cluster(GetParam());
  for (int deviating : {0, 1, 3}) {
    Collected<std::string> errors;
    cluster.run([&](Member& member) {
      Ranks mine = cluster.all();
      if (member.rank() == deviating) mine.erase(mine.begin() + (deviating == 3 ? 0 : 3));
      if (member.rank() != deviating || mine.size() > 1)
        errors.add(error_text(member.try_create(mine, "test.other_group")));
      exercise(member.create_world("test.after"), 1);
    });
    EXPECT_THAT(errors.values(),
                Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the group"),
                           HasSubstr("{0-3}"))))
        << "the deviating rank is " << deviating;
    EXPECT_EQ(errors.values().size(), 4u);
  }
}

TEST_P(Disagreement, OnTheTagIsReportedToAll) {
  Cluster cluster(GetParam());
  cluster.next_options().level = ThreadLevel::serialized;
  for (int deviating : {0, 3}) {
    Collected<std::string> errors;
    cluster.run([&](Member& member) {
      errors.add(error_text(member.try_create(
          cluster.all(), member.rank() == deviating ? "test.one" : "test.another")));
      exercise(member.create_world("test.after"), 1);
    });
    EXPECT_THAT(errors.values(),
                Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the tag"),
                           HasSubstr("test.one"), HasSubstr("test.another"))));
    EXPECT_EQ(errors.values().size(), 4u);
  }
}

TEST_P(Disagreement, OnTheTagIsFoundBeforeATimeoutThatPrecedesReports) {
  base::Settings settings = Cluster::settings();
  settings.report_after = 60;
  settings.create_timeout = 4;
  Cluster cluster(GetParam(), settings);
  cluster.next_options().level = ThreadLevel::serialized;
  Collected<std::string> errors;
  cluster.run([&](Member& member) {
    errors.add(error_text(
        member.try_create(cluster.all(), member.rank() == 3 ? "test.one" : "test.another")));
    exercise(member.create_world("test.after"), 1);
  });
  EXPECT_THAT(errors.values(),
              Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the tag"))));
}

using MakeFromGroup = std::function<base::Result<CommunicatorPtr>(const FromGroup&)>;

MakeFromGroup grid(std::vector<int> dims, std::vector<int> periods, bool reorder = false) {
  const CartesianArguments arguments{std::move(dims), std::move(periods), reorder};
  return [arguments](const FromGroup& from) { return cart_create_from_group(from, arguments); };
}

/// Return a graph in which each node has one neighbor.
MakeFromGroup ring(int nodes) {
  Graph graph;
  for (int node = 0; node < nodes; ++node) {
    graph.index.push_back(node + 1);
    graph.edges.push_back((node + 1) % nodes);
  }
  return [graph](const FromGroup& from) { return graph_create_from_group(from, graph, false); };
}

MakeFromGroup without_topology() {
  return [](const FromGroup& from) {
    return create_from_group(from.session, from.group, from.tag, from.info, from.handler);
  };
}

/// The sessions allow several threads, but a process uses a tag in one call at a time.
TEST_P(Disagreement, OnTheTopologyIsReportedToAll) {
  struct Case {
    MakeFromGroup usual, deviating;
    const char *usual_text, *deviating_text;
  };
  const Case cases[] = {
      {grid({2, 2}, {0, 0}), grid({4}, {0}), "grid 2x2", "grid 4"},
      {grid({2, 2}, {0, 0}), grid({2, 2}, {0, 1}), "grid 2x2", "grid 2x2p"},
      {grid({2, 2}, {0, 0}), grid({2, 2}, {0, 0}, true), "grid 2x2", "grid 2x2, reordered"},
      {grid({2, 2}, {0, 0}), grid({3}, {0}), "grid 2x2", "grid 3"},
      {ring(4), ring(3), "graph of 4 nodes", "graph of 3 nodes"},
      {grid({4}, {0}), ring(4), "grid 4", "graph of 4 nodes"},
      {without_topology(), grid({3}, {0}), "{0-3}", "grid 3"},
  };
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 10;
  for (const Case& each : cases) {
    for (int deviating : {0, 1}) {
      SCOPED_TRACE(std::string(each.deviating_text) + " at rank " + std::to_string(deviating));
      Cluster cluster(GetParam(), settings);
      Collected<std::string> errors;
      cluster.run([&](Member& member) {
        const MakeFromGroup& make = member.rank() == deviating ? each.deviating : each.usual;
        errors.add(error_text(
            make({member.session(), member.world(), "test.topology", nullptr, nullptr})));
        exercise(member.create_world("test.after"), 1);
      });
      EXPECT_THAT(errors.values(),
                  Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the topology"),
                             HasSubstr("\"test.topology\""), HasSubstr(each.usual_text),
                             HasSubstr(each.deviating_text))));
      EXPECT_EQ(errors.values().size(), 4u);
    }
  }
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SeveralThreads, MayCallAsTheThreadLevelAllows) {
  using Levels = std::vector<ThreadLevel>;
  auto may_call = [](const Levels& levels, bool from_threads) {
    Cluster cluster(World::of(1, 1));
    auto process = *cluster.start(0);
    std::vector<SessionPtr> sessions;
    auto open = [&](ThreadLevel level) {
      sessions.push_back(
          std::make_shared<Session>(source_of(process), SessionOptions{.level = level}, nullptr));
    };
    std::promise<void> all_are_open;
    const std::shared_future<void> end = all_are_open.get_future().share();
    std::vector<std::jthread> threads;  // all alive at the same time
    for (ThreadLevel level : levels) {
      if (!from_threads) {
        open(level);
        continue;
      }
      std::promise<void> is_open;
      threads.emplace_back([&] {
        open(level);
        is_open.set_value();
        end.wait();
      });
      is_open.get_future().wait();
    }
    all_are_open.set_value();
    for (int round = 0; round < 2; ++round)
      for (const SessionPtr& session : sessions) EXPECT_TRUE(session->process());
    return process->threads().are_several();
  };
  using enum ThreadLevel;
  EXPECT_TRUE(may_call({multiple}, false));
  EXPECT_FALSE(may_call({serialized}, false));
  EXPECT_FALSE(may_call({single, funneled}, false));
  EXPECT_TRUE(may_call({single, serialized}, false));
  EXPECT_TRUE(may_call({serialized, funneled}, false));
  EXPECT_FALSE(may_call({single}, true));
  EXPECT_TRUE(may_call({funneled, funneled}, true));
}

/// Two creations over one group, which one process and the others begin in opposite orders. This is
/// legal if that process, or each process, has one thread for each creation.
class LateThread : public ::testing::TestWithParam<std::tuple<World, bool>> {};

TEST_P(LateThread, IsWaitedForIfTagsSeemToDiffer) {
  const World& world = std::get<World>(GetParam());
  const bool all_have_two = std::get<bool>(GetParam());
  base::Settings settings = Cluster::settings();
  settings.report_after = 0.05;
  settings.create_timeout = 20;  // if one creation failed, members of the other would be missing
  for (int deviating : {0, 3}) {
    Cluster cluster(world, settings);
    if (!all_have_two) cluster.next_options().level = ThreadLevel::single;
    // true once at least one member has sent several status requests and got replies
    auto have_sent_requests = [&] {
      return count_of("the same group with another tag", cluster.log()) > 4 * cluster.size();
    };
    cluster.run([&](Member& member) {
      const bool is_odd = member.rank() == deviating;
      auto create = [&](bool is_one) {
        exercise(member.create_world(is_one ? "test.one" : "test.another"), is_one);
      };
      if (is_odd && !all_have_two) member.process().threads().allow_several();
      if (!is_odd && !all_have_two) {
        create(false);
        return create(true);
      }
      std::thread second([&] {
        while (!HasFailure() && !have_sent_requests()) std::this_thread::yield();
        create(!is_odd);
      });
      create(is_odd);
      second.join();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, LateThread,
                         ::testing::Combine(::testing::ValuesIn(kWorlds), ::testing::Bool()));

TEST_P(Disagreement, IsNotReportedForSlowMembers) {
  base::Settings settings = Cluster::settings();
  settings.report_after = 0.05;
  Cluster cluster(GetParam(), settings);
  std::atomic<bool> go = false;
  cluster.run([&](Member& member) {
    // The members wait in a chain with one tag until the first one calls, after all status
    // requests.
    if (member.rank() == 0) {
      while (cluster.log().find("{2-3}") == std::string::npos) std::this_thread::yield();
      go = true;
    }
    for (int first = 0; first < 3; ++first)
      if (member.rank() == first || member.rank() == first + 1)
        exercise(member.create({first, first + 1}, "test.chain"), first);
    EXPECT_TRUE(go);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Disagreement, ::testing::ValuesIn(kWorlds));

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

INSTANTIATE_TEST_SUITE_P(Worlds, MissingMembers, ::testing::ValuesIn(kWorlds));

/// A process may use a tag in one call at a time only (MPI-4.1 §7.4.2).
TEST(CreationMisuse, TwoThreadsWithOneGroupAndTagGetAnError) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 1;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run({0}, [](Member& member) {
    std::vector<std::string> errors(2);
    auto call = [&](std::size_t which) {
      errors[which] = error_text(member.try_create({0, 1}, "test.twice"));
    };
    std::thread other(call, 1);
    call(0);
    other.join();
    EXPECT_THAT(errors, ::testing::UnorderedElementsAre(StartsWith("MPI_ERR_ARG"),
                                                        StartsWith("MPI_ERR_OTHER")));
  });
}

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

/// Return the number of occurrences in the log.
int times(const std::string& log, const std::string& what) {
  int count = 0;
  for (std::size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1))
    ++count;
  return count;
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
      while (member.rank() == 2 && times(cluster.log(), report) < 2) std::this_thread::yield();
      exercise(member.create_world("test.late"), 1);
      if (member.rank() == 1) return;
      const int before = times(cluster.log(), "over group {0-2} has waited");
      auto waited = member.process().engine().wait_until(
          [] { return false; }, base::Deadline::after_seconds(3 * kInterval));
      EXPECT_TRUE(waited && !*waited);
      EXPECT_EQ(times(cluster.log(), "over group {0-2} has waited"), before);
    });
    EXPECT_GE(times(cluster.log(), report), 2);
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

struct Death {
  World world;
  int victim;
  bool is_published = false;  ///< the victim has published its address for other nodes
};
void PrintTo(const Death& death, std::ostream* out) {
  PrintTo(death.world, out);
  *out << ", victim " << death.victim << (death.is_published ? ", published" : "");
}

class DeadMember : public ::testing::TestWithParam<Death> {};

TEST_P(DeadMember, EndsTheCreation) {
  const auto [world, victim_rank, is_published] = GetParam();
  Cluster cluster(world);
  Victim victim(cluster, victim_rank, is_published);
  Ranks living = cluster.all();
  living.erase(std::find(living.begin(), living.end(), victim_rank));
  Collected<std::string> errors;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos)
      std::this_thread::yield();  // until a member has reported its wait
    victim.end();
  });
  cluster.run(living, [&](Member& member) {
    errors.add(error_text(member.try_create(cluster.all(), "test.dead")));
    EXPECT_EQ(member.process().creations().unnotified_failures(), 0u)
        << "no failure may be kept for the dead member, which never calls";
    exercise(member.create(living, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(errors.values().size(), living.size());
  const std::string name = "process " + std::to_string(victim_rank) + " (rank";
  EXPECT_THAT(errors.values(), Each(AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr(name),
                                          HasSubstr("no longer running"))));
}

INSTANTIATE_TEST_SUITE_P(
    Places, DeadMember,
    ::testing::Values(Death{World::of(1, 4), 3}, Death{World::of(1, 4), 0},  // a member, the leader
                      Death{World::of(3, 2), 5},
                      Death{World::of(3, 3), 3},  // a member, a node leader
                      Death{World::of(3, 2), 0},
                      Death{World::of(5, 2), 4}));  // the leader, inside the tree
/// The victim is alone on its node, so only its link shows the death: the leader, its children, a
/// member inside the tree, and a leaf below it.
INSTANTIATE_TEST_SUITE_P(Alone, DeadMember,
                         ::testing::Values(Death{World::of(3, 1), 0, true},
                                           Death{World::of(3, 1), 1, true},
                                           Death{World::of(3, 1), 2, true},
                                           Death{World::of(4, 1), 2, true},
                                           Death{World::of(4, 1), 3, true}));

class ConnectedPeer : public ::testing::TestWithParam<std::string> {};

/// Two connected processes, without and with a fabric. One of them finalizes and exits.
TEST_P(ConnectedPeer, ExitAfterSessionFinalizeFailsCreation) {
  base::Settings settings = Cluster::settings();
  settings.provider = GetParam();
  Cluster cluster(World::of(2, 1), settings);
  cluster.run([&](Member& member) {
    exercise(member.create_world("test.before"), 1);
    if (member.rank() == 1) {
      member.end();
      while (cluster.log().find("which has ended its session") == std::string::npos)
        std::this_thread::yield();
      auto published = publish_exit(settings, cluster.factories(1));
      EXPECT_TRUE(published) << published.error().text();
      return;
    }
    EXPECT_THAT(error_text(member.try_create({0, 1}, "test.exited")),
                AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr("process 1 (rank 1"),
                      HasSubstr("no longer running")));
  });
}

INSTANTIATE_TEST_SUITE_P(Providers, ConnectedPeer, ::testing::Values("", "any"));

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
