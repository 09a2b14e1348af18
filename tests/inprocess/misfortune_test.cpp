// SPDX-License-Identifier: BSD-3-Clause
// Creations that cannot succeed: members that disagree, do not come, or die. Nobody hangs, all are told what is wrong, and all
// can go on.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/creation_wire.hpp"
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

TEST_P(Disagreement, OnTheGroup) {
  Cluster cluster(GetParam());
  for (int odd_one : {0, 1, 3}) {
    Collected<std::string> heard;
    cluster.run([&](Member& member) {
      Ranks mine = cluster.all();
      if (member.rank() == odd_one) mine.erase(mine.begin() + (odd_one == 3 ? 0 : 3));
      if (member.rank() != odd_one || mine.size() > 1) heard.add(told(member.try_create(mine, "test.other_group")));
      exercise(member.create_world("test.after"), 1);
    });
    EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the group"), HasSubstr("{0-3}"))))
        << "the odd one is " << odd_one;
    EXPECT_EQ(heard.values().size(), 4u);
  }
}

TEST_P(Disagreement, OnTheTag) {
  Cluster cluster(GetParam());
  cluster.next_options().level = ThreadLevel::serialized;
  for (int odd_one : {0, 3}) {
    Collected<std::string> heard;
    cluster.run([&](Member& member) {
      heard.add(told(member.try_create(cluster.all(), member.rank() == odd_one ? "test.one" : "test.another")));
      exercise(member.create_world("test.after"), 1);
    });
    EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the tag"), HasSubstr("test.one"),
                                           HasSubstr("test.another"))));
    EXPECT_EQ(heard.values().size(), 4u);
  }
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Threads, MayCallWhereSessionsLeaveThemRoom) {
  using Levels = std::vector<ThreadLevel>;
  auto may_call = [](const Levels& levels, bool from_threads) {
    Cluster cluster(World::of(1, 1));
    auto process = *cluster.start(0);
    std::vector<SessionPtr> sessions;
    auto open = [&](ThreadLevel level) { sessions.push_back(std::make_shared<Session>(source_of(process), SessionOptions{.level = level}, nullptr)); };
    std::promise<void> all_are_open;
    const std::shared_future<void> end = all_are_open.get_future().share();
    std::vector<std::jthread> threads;  // that live at the same time
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
    return process->has_several_threads();
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

/// Two creations over one group, which one process and the others begin in opposite orders: legal where that one, or each, has a
/// thread for either.
class LateThread : public ::testing::TestWithParam<std::tuple<World, bool>> {};

TEST_P(LateThread, IsWaitedForWhereTagsSeemToDiffer) {
  const auto& [world, all_have_two] = GetParam();
  base::Settings settings = Cluster::settings();
  settings.report_after = 0.05;
  settings.create_timeout = 20;  // one that fails leaves the other without members
  for (int odd_one : {0, 3}) {
    Cluster cluster(world, settings);
    if (!all_have_two) cluster.next_options().level = ThreadLevel::single;
    // one member at least has asked that often, and has been answered
    auto have_asked = [&] { return count_of("the same group with another tag", cluster.log()) > 4 * cluster.size(); };
    cluster.run([&](Member& member) {
      const bool is_odd = member.rank() == odd_one;
      auto create = [&](bool is_one) { exercise(member.create_world(is_one ? "test.one" : "test.another"), is_one); };
      if (is_odd && !all_have_two) member.process().allow_several_threads();
      if (!is_odd && !all_have_two) {
        create(false);
        return create(true);
      }
      std::thread second([&] {
        while (!HasFailure() && !have_asked()) std::this_thread::yield();
        create(!is_odd);
      });
      create(is_odd);
      second.join();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, LateThread, ::testing::Combine(::testing::ValuesIn(kWorlds), ::testing::Bool()));

TEST_P(Disagreement, IsNotSeenWhereSomebodyIsJustSlow) {
  base::Settings settings = Cluster::settings();
  settings.report_after = 0.05;
  Cluster cluster(GetParam(), settings);
  std::atomic<bool> go = false;
  cluster.run([&](Member& member) {
    // Waits in a chain with one tag until the first one comes, well after everybody has asked.
    if (member.rank() == 0) {
      while (cluster.log().find("{2-3}") == std::string::npos)
        std::this_thread::yield();
      go = true;
    }
    for (int first = 0; first < 3; ++first)
      if (member.rank() == first || member.rank() == first + 1) exercise(member.create({first, first + 1}, "test.chain"), first);
    EXPECT_TRUE(go);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Disagreement, ::testing::ValuesIn(kWorlds));

class Missing : public ::testing::TestWithParam<World> {};

TEST_P(Missing, MembersAreNamedAfterTheTimeOut) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.4;
  Cluster cluster(GetParam(), settings);
  for (int missing : {3, 0}) {
    Ranks present = cluster.all();
    present.erase(std::find(present.begin(), present.end(), missing));
    Collected<std::string> heard;
    const auto begin = base::now_ns();
    cluster.run(present, [&](Member& member) {
      heard.add(told(member.try_create(cluster.all(), "test.missing")));
      exercise(member.create(present, "test.present"), 1);
    });
    EXPECT_LT(base::now_ns() - begin, 20'000'000'000) << "a process that ends must not wait for one without a session";
    EXPECT_EQ(heard.values().size(), 3u);
    EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("test.missing"), HasSubstr("CREATE_TIMEOUT"))));
    // Those who wait for it directly name it; all others hear it from them, unless it was the one to pass it on.
    const std::string name = "process " + std::to_string(missing) + " (rank";
    if (missing == 3) {
      EXPECT_THAT(heard.values(), Each(HasSubstr(name)));
    } else {
      EXPECT_THAT(heard.values(), ::testing::Contains(HasSubstr(name)));
    }
    EXPECT_THAT(cluster.log(), HasSubstr("has waited"));
  }
}

TEST_P(Missing, WhoComesTooLateIsTold) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  Cluster cluster(GetParam(), settings);
  std::atomic<int> given_up = 0;
  Collected<std::string> heard;
  cluster.run([&](Member& member) {
    if (member.rank() == 3) {  // has a session, makes no progress, and comes when the others have given up
      while (given_up < 3) std::this_thread::yield();
    }
    heard.add(told(member.try_create(cluster.all(), "test.too_late")));
    ++given_up;
    // The others keep their sessions until the late one has been told.
    auto waited = member.process().engine().wait_until([&] { return given_up == 4; }, base::Deadline::after_seconds(20));
    EXPECT_TRUE(waited && *waited);
    exercise(member.create_world("test.after"), 1);
  });
  EXPECT_THAT(heard.values(), Each(StartsWith("MPI_ERR_OTHER")));
}

TEST_P(Missing, ASecondAttemptWithTheSameTagSucceeds) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.2;
  Cluster cluster(GetParam(), settings);
  std::atomic<int> given_up = 0;
  cluster.run([&](Member& member) {
    if (member.rank() != 3) {
      EXPECT_NE(told(member.try_create(cluster.all(), "test.retry")), "");
      ++given_up;
    }
    auto waited = member.process().engine().wait_until([&] { return given_up == 3; }, base::Deadline::after_seconds(20));
    ASSERT_TRUE(waited && *waited);
    auto created = member.try_create(cluster.all(), "test.retry");
    if (!created && member.rank() == 3) created = member.try_create(cluster.all(), "test.retry");  // told of the first attempt
    ASSERT_TRUE(created) << created.error().text();
    exercise(*created, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Missing, ::testing::ValuesIn(kWorlds));

/// MPI-4.1 §7.4.2: one tag is used by one call of a process at a time.
TEST(Misuse, TwoThreadsOfAProcessWithOneGroupAndTag) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 1;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run({0}, [](Member& member) {
    std::vector<std::string> heard(2);
    auto call = [&](std::size_t which) { heard[which] = told(member.try_create({0, 1}, "test.twice")); };
    std::thread other(call, 1);
    call(0);
    other.join();
    EXPECT_THAT(heard, ::testing::UnorderedElementsAre(StartsWith("MPI_ERR_ARG"), StartsWith("MPI_ERR_OTHER")));
  });
}

TEST(Report, NamesWhoHasNoSessionAndWhoWaitsForIt) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(2, 2), settings);
  cluster.run({0, 1, 2}, [&](Member& member) { EXPECT_NE(told(member.try_create(cluster.all(), "test.report")), ""); });
  const std::string absent = "process 3 (rank 3 of the group, node node1, has no session)";
  EXPECT_THAT(cluster.log(), HasSubstr("node1:2] warn: the creation with tag \"test.report\" over the group {0-3} has waited"));
  EXPECT_THAT(cluster.log(), HasSubstr("for " + absent));
  EXPECT_THAT(cluster.log(), HasSubstr("process 2 (rank 2 of the group, node node1), which has called and waits for " + absent));
  EXPECT_THAT(cluster.log(), ContainsRegex("has no session\\), or does not share .* \\([0-9.e-]+ s ago\\)"));
}

TEST(Report, SaysOfWhomThereIsNoSignOfLife) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(2, 1), settings);
  cluster.run({0}, [](Member& member) { EXPECT_NE(told(member.try_create({0, 1}, "test.alone")), ""); });
  EXPECT_THAT(cluster.log(), HasSubstr("process 1 (rank 1 of the group, node node1), no sign of life yet"));
}

TEST(Report, NamesWhereOthersWait) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.9;
  Cluster cluster(World::of(1, 3), settings);
  cluster.run({0, 1}, [](Member& member) {
    const Ranks mine = {member.rank(), member.rank() + 1};
    EXPECT_NE(told(member.try_create(mine, member.rank() == 0 ? "test.here" : "test.elsewhere")), "");
  });
  EXPECT_THAT(cluster.log(), HasSubstr("which waits in the creation with tag \"test.elsewhere\" over {1-2}"));
}

/// How often the log tells of this.
int times(const std::string& log, const std::string& what) {
  int count = 0;
  for (std::size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++count;
  return count;
}

TEST(Report, ComesAgainUntilTheLateOneIsThereAndNotAfterwards) {
  constexpr double kInterval = 0.5;
  for (const World& world : {World::of(1, 3), World::of(3, 1)}) {
    base::Settings settings = Cluster::settings();
    settings.report_after = kInterval;
    Cluster cluster(world, settings);
    const std::string report = "node0:0] warn: the creation with tag \"test.late\" over the group {0-2} has waited";
    cluster.run([&](Member& member) {
      while (member.rank() == 2 && times(cluster.log(), report) < 2) std::this_thread::yield();
      exercise(member.create_world("test.late"), 1);
      if (member.rank() == 1) return;
      const int before = times(cluster.log(), "has waited");
      auto waited = member.process().engine().wait_until([] { return false; }, base::Deadline::after_seconds(3 * kInterval));
      EXPECT_TRUE(waited && !*waited);
      EXPECT_EQ(times(cluster.log(), "has waited"), before);
    });
    EXPECT_GE(times(cluster.log(), report), 2);
    EXPECT_THAT(cluster.log(), ContainsRegex("has waited 0\\.5[0-9.]* s for process 2 "));
    EXPECT_THAT(cluster.log(), ContainsRegex("has waited 1(\\.[0-9]+)? s for process 2 "));
  }
}

TEST(Report, CanBeSwitchedOff) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.5;
  settings.report_after = 0;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run({0}, [](Member& member) { EXPECT_NE(told(member.try_create({0, 1}, "test.silent")), ""); });
  EXPECT_EQ(cluster.log(), "");
}

struct Death {
  World world;
  int victim;
  bool is_published = false;  ///< its address, for other nodes
};
void PrintTo(const Death& death, std::ostream* out) {
  PrintTo(death.world, out);
  *out << ", victim " << death.victim << (death.is_published ? ", published" : "");
}

class Dead : public ::testing::TestWithParam<Death> {};

TEST_P(Dead, MembersThatDieWhileOthersWaitEndTheCreation) {
  const auto [world, victim_rank, is_published] = GetParam();
  Cluster cluster(world);
  Victim victim(cluster, victim_rank, is_published);
  Ranks living = cluster.all();
  living.erase(std::find(living.begin(), living.end(), victim_rank));
  Collected<std::string> heard;
  std::thread killer([&] {
    while (cluster.log().find("test.dead") == std::string::npos) std::this_thread::yield();  // somebody has waited
    victim.end();
  });
  cluster.run(living, [&](Member& member) {
    heard.add(told(member.try_create(cluster.all(), "test.dead")));
    EXPECT_EQ(member.process().creations().untold_failures(), 0u) << "kept for the dead one, which does not come";
    exercise(member.create(living, "test.living"), 1);
  });
  killer.join();
  EXPECT_EQ(heard.values().size(), living.size());
  const std::string name = "process " + std::to_string(victim_rank) + " (rank";
  EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr(name), HasSubstr("no longer running"))));
}

INSTANTIATE_TEST_SUITE_P(Places, Dead,
                         ::testing::Values(Death{World::of(1, 4), 3}, Death{World::of(1, 4), 0},      // a member, the leader
                                           Death{World::of(3, 2), 5}, Death{World::of(3, 3), 3},      // a member, a node root
                                           Death{World::of(3, 2), 0}, Death{World::of(5, 2), 4}));    // the leader, inside the tree
/// Alone on its node, so that nothing but the way to it tells: the leader, its children; inside the tree, and a leaf below.
INSTANTIATE_TEST_SUITE_P(Alone, Dead,
                         ::testing::Values(Death{World::of(3, 1), 0, true}, Death{World::of(3, 1), 1, true}, Death{World::of(3, 1), 2, true},
                                           Death{World::of(4, 1), 2, true}, Death{World::of(4, 1), 3, true}));

class Met : public ::testing::TestWithParam<std::string> {};

/// Two that have met, without a fabric and with one; then one of them ends its session and exits.
TEST_P(Met, WhoExitsAfterItsSessionEndsTheCreation) {
  base::Settings settings = Cluster::settings();
  settings.provider = GetParam();
  Cluster cluster(World::of(2, 1), settings);
  cluster.run([&](Member& member) {
    exercise(member.create_world("test.before"), 1);
    if (member.rank() == 1) {
      member.end();
      while (cluster.log().find("which has ended its session") == std::string::npos) std::this_thread::yield();
      auto said = say_exit(settings, cluster.factories(1));
      EXPECT_TRUE(said) << said.error().text();
      return;
    }
    EXPECT_THAT(told(member.try_create({0, 1}, "test.exited")),
                AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr("process 1 (rank 1"), HasSubstr("no longer running")));
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, Met, ::testing::Values("", "any"));

class Launcher : public ::testing::TestWithParam<std::string> {};

/// With each strategy, and whatever it is that the launcher never answers.
TEST_P(Launcher, ThatNeverAnswersEndsTheCreationWithItsTimeOut) {
  using bootstrap::inmem::Fault;
  using bootstrap::inmem::Operation;
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 0.4;
  settings.exchange = GetParam();
  Cluster cluster(World::of(2, 2), settings);
  for (const auto silent : {Operation::Kind::lookup, Operation::Kind::publish, Operation::Kind::fence}) {
    if (silent == Operation::Kind::fence && GetParam() != "fence") continue;
    cluster.launcher().set_faults([&](const Operation& operation) { return operation.kind == silent ? Fault::never() : Fault{}; });
    Collected<std::string> heard;
    cluster.run([&](Member& member) { heard.add(told(member.try_create(cluster.all(), "test.silent_launcher"))); });
    EXPECT_EQ(heard.values().size(), 4u);
    EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("test.silent_launcher"), HasSubstr("CREATE_TIMEOUT"))));
  }
  cluster.launcher().set_faults([](const Operation&) { return Fault{}; });
  cluster.run([&](Member& member) { exercise(member.create_world("test.after"), 1); });
}

INSTANTIATE_TEST_SUITE_P(Strategies, Launcher, ::testing::Values("modex", "ring", "fence"));

/// What is no address stands in the place of one: too short, of another kind, too long. The creation that needs it ends.
TEST(WrongAnswer, AnAddressThatIsNoneEndsTheCreation) {
  for (const std::string_view wrong : {"x", "0123456789abcdef0", "a text that is much longer than any address of a process would be"}) {
    Cluster cluster(World::of(2, 2));
    ASSERT_TRUE(cluster.launcher().open(0)->publish(address_key(0), std::as_bytes(std::span(wrong))));
    Collected<std::string> heard;
    std::atomic<int> told_so_far = 0;
    cluster.run({2, 3}, [&](Member& member) {
      heard.add(told(member.try_create({0, 2, 3}, "test.wrong_answer")));
      ++told_so_far;
      // the node's root keeps its session until the other has come and been told
      auto waited = member.process().engine().wait_until([&] { return told_so_far == 2; }, base::Deadline::after_seconds(20));
      EXPECT_TRUE(waited && *waited);
    });
    EXPECT_THAT(heard.values(), Each(AllOf(StartsWith("MPI_ERR_OTHER"), HasSubstr("launcher"), HasSubstr("address of process 0"))));
    EXPECT_EQ(heard.values().size(), 2u);
  }
}

/// Of a child it is asked for only to say what it does, and that one brings its own.
TEST(WrongAnswer, WhoOnlyWantedToAskGoesOn) {
  Cluster cluster(World::of(2, 1));
  ASSERT_TRUE(cluster.launcher().open(1)->publish(address_key(0), std::vector(17, std::byte{7})));
  cluster.run([&](Member& member) {
    while (member.rank() == 1 && cluster.log().find("has waited") == std::string::npos) std::this_thread::yield();
    exercise(member.create_world("test.wrong_answer"), 1);
  });
}

/// Whoever begins a search has not asked yet: with an address that is known, mostly it never does.
TEST(Sought, CountsThoseWhomTheLauncherWasAskedAbout) {
  Cluster cluster(World::of(2, 1));
  cluster.run({0}, [](Member& member) {
    Process& process = member.process();
    auto known = process.look_for({0, 1}, 0);
    EXPECT_TRUE(known.poll());
    EXPECT_EQ(process.sought_count(), 0u);
    auto unknown = process.look_for({0, 1});
    EXPECT_EQ(process.sought_count(), 0u);
    EXPECT_TRUE(unknown.poll());
    EXPECT_TRUE(unknown.poll());
    EXPECT_EQ(process.sought_count(), 1u);
  });
}

/// The same from each of these ranks.
MemberTable table_of(std::initializer_list<int> ranks) {
  MemberTable table;
  for (const int rank : ranks) table.set(rank, {.context_base = 1});
  return table;
}

struct Overreach {
  World world;
  int from, to;
  std::initializer_list<int> ranks;  ///< of which it speaks
};

/// What others bring, or the receiver itself, is not replaced by it.
TEST(Damaged, AContributionSpeaksOfNobodyBeyondItsSendersPart) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 5;
  for (const auto& [world, from, to, ranks] :
       {Overreach{World::of(1, 3), 1, 0, {0, 1}}, Overreach{World::of(1, 3), 1, 0, {1, 2}}, Overreach{World::of(3, 1), 1, 0, {0, 1}},
        Overreach{World::of(3, 1), 1, 0, {1, 2}}, Overreach{World::of(2, 2), 2, 0, {1, 2, 3}}, Overreach{World::of(4, 1), 3, 2, {2, 3}}}) {
    Cluster cluster(world, settings);
    const std::string is_waiting = ":" + std::to_string(to) + "] warn: the creation with tag \"test.overreach\"";
    cluster.run([&](Member& member) {
      exercise(member.create_world("test.before"), 1);
      if (member.rank() == from) {
        while (cluster.log().find(is_waiting) == std::string::npos) std::this_thread::yield();
        const CreationKey key{"", "test.overreach", {{0, 0, static_cast<std::uint32_t>(cluster.size()), 1}}};
        ASSERT_TRUE(member.process().engine().send_control({0, static_cast<std::uint32_t>(to)}, encode(Contribution{key, table_of(ranks)})));
      }
      EXPECT_EQ(told(member.try_create(cluster.all(), "test.overreach")), "");
    });
  }
}

TEST(Damaged, MessagesDoNoHarm) {
  Cluster cluster(World::of(1, 2));
  cluster.run([](Member& member) {
    if (member.rank() == 1) {
      p2p::Engine& engine = member.process().engine();
      ASSERT_TRUE(engine.send_control({0, 0}, {}));
      ASSERT_TRUE(engine.send_control({0, 0}, std::vector<std::byte>(3, std::byte{255})));
      // well formed, but of a group that this job cannot have
      for (const std::vector<Range>& ranges :
           {std::vector<Range>{{0, 0, 2'000'000'000, 1}}, std::vector<Range>{{7, 0, 2, 1}}, std::vector<Range>{{0, 1, 1, 0}},
            std::vector<Range>{{0, 0, 2, 1}, {0, 0, 2, 1}}, std::vector<Range>{}}) {
        const CreationKey key{"", "test.damaged", ranges};
        ASSERT_TRUE(engine.send_control({0, 0}, encode(Contribution{key, table_of({1})})));
        ASSERT_TRUE(engine.send_control({0, 0}, encode(Question{key, 0, 0, {}})));
        ASSERT_TRUE(engine.send_control({0, 0}, encode(Failure{key, 0, base::ErrorClass::other, "?", {}})));
      }
      // of the right group, but with ranks that it does not have
      const CreationKey key{"", "test.damaged", {{0, 0, 2, 1}}};
      ASSERT_TRUE(engine.send_control({0, 0}, encode(Contribution{key, table_of({1, 77})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(Contribution{key, table_of({-1, 1})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(Contribution{key, table_of({0})})));
      ASSERT_TRUE(engine.send_control({0, 0}, encode(Outcome{key, {}, 0, {}})));
    }
    exercise(member.create_world("test.damaged"), 1);
  });
  EXPECT_THAT(cluster.log(), HasSubstr("process 1 about the creation of a communicator is damaged"));
}

}  // namespace
}  // namespace shim::sessions::testing
