// SPDX-License-Identifier: BSD-3-Clause
// Sessions again and again: processes that end their last session and begin anew, alone and in the middle of others' creations.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <regex>
#include <thread>

#include "cluster.hpp"
#include "memory_in_use.hpp"
#include "tests/base/open_descriptors.hpp"

namespace shim::sessions::testing {
namespace {

/// Makes progress for others until the condition holds.
void progress_until(Process& process, const std::function<bool()>& condition) {
  auto reached = process.engine().wait_until(condition, base::Deadline::after_seconds(20));
  ASSERT_TRUE(reached && *reached);
}

class Again : public ::testing::TestWithParam<World> {};

#ifdef __SANITIZE_THREAD__
constexpr int kLives = 30;  // each takes six times as long, and what is left does not depend on the sanitizer
#else
constexpr int kLives = 100;
#endif

TEST_P(Again, ManyTimesAndNothingIsLeft) {
  Cluster cluster(GetParam());
  auto one_life = [&] {
    cluster.run([](Member& member) {
      CommunicatorPtr world = member.create_world("test.life");
      exercise(world, 1);
      exercise(*duplicate(world, false), 2);
    });
    ASSERT_EQ(cluster.left_over().size(), 0u);
  };
  for (int i = 0; i < 10; ++i) one_life();  // what is made once stays: threads' arenas, the launcher's keys
  const std::size_t descriptors = base::open_descriptors();
  const std::size_t memory = memory_in_use();
  for (int i = 10; i < kLives; ++i) one_life();
  EXPECT_EQ(base::open_descriptors(), descriptors);
  // The network and the launcher in memory keep a record of each life; where they are not used, nothing may grow.
  if (GetParam().node_map.node_count() == 1) {
    EXPECT_LT(memory_in_use(), memory + 4096);
  }
}

/// Answers of the launcher and messages of the process itself come in any order.
TEST(AgainOverNodes, WhatIsKnownOfALaterLifeIsNotUndoneByOldNews) {
  Cluster cluster(World::of(2, 1));
  cluster.run({0}, [](Member& member) {
    const base::ProcessId other{0, 1};
    Process& process = member.process();
    process.note_published(other, 2);
    process.note_published(other, 1);
    EXPECT_TRUE(process.has_published(other, 2));
    process.note_published(other, 3);
    EXPECT_TRUE(process.has_published(other, 3));
  });
}

/// A task is a session over a subset. Every process goes through the tasks that it is in, in their order, and begins anew for
/// each; so contributions meet processes that are still in an earlier task, and that end their sessions with them.
TEST_P(Again, TasksOverChangingSubsets) {
  Cluster cluster(GetParam());
  std::mt19937 random(20261);
  std::vector<Ranks> tasks;
  for (int i = 0; i < 60; ++i) {
    Ranks members;
    for (int rank : cluster.all())
      if (random() % 2) members.push_back(rank);
    std::shuffle(members.begin(), members.end(), random);
    if (!members.empty()) tasks.push_back(members);
  }
  std::vector<std::thread> threads;
  for (int rank : cluster.all())
    threads.emplace_back([&, rank] {
      for (std::size_t task = 0; task < tasks.size(); ++task) {
        if (std::find(tasks[task].begin(), tasks[task].end(), rank) == tasks[task].end()) continue;
        Member member(cluster, rank);
        ASSERT_NE(member.session(), nullptr);
        exercise(member.create(tasks[task], task % 2 ? "test.task" : "test.task-" + std::to_string(task)), static_cast<int>(task));
      }
    });
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Worlds, Again, ::testing::Values(World::of(1, 4), World::of(2, 2), World::dealt(3, 6)));

struct Meeting {
  World world;
  int root, other;
};
void PrintTo(const Meeting& meeting, std::ostream* out) {
  PrintTo(meeting.world, out);
  *out << ", " << meeting.other << " meets " << meeting.root;
}

class Meetings : public ::testing::TestWithParam<Meeting> {};

/// The other's contribution has come; then the root ends its session, begins anew, and only now calls.
TEST_P(Meetings, AContributionIsGivenBack) {
  const auto [world, root, other] = GetParam();
  Cluster cluster(world);
  const Ranks both = {root, other};
  cluster.run(both, [&, other = other](Member& member) {
    exercise(member.create(both, "test.before"), 1);
    if (member.rank() == other) {
      exercise(member.create(both, "test.given_back"), 2);
      return;
    }
    // The question follows the contribution on the same way: when it has been answered, the contribution is here.
    auto is_answered = [&] { return cluster.log().find("has a session, but is not in any creation") != std::string::npos; };
    progress_until(member.process(), is_answered);
    member.end();
    member.begin();
    exercise(member.create(both, "test.given_back"), 2);
  });
}

/// The root has ended its session before the other calls, so nobody can tell the other that what it sends is lost.
TEST_P(Meetings, ARootThatHasGoneAndComesBack) {
  const auto [world, root, other] = GetParam();
  Cluster cluster(world);
  const Ranks both = {root, other};
  std::atomic<int> stage = 0;
  cluster.run(both, [&, other = other](Member& member) {
    exercise(member.create(both, "test.before"), 1);
    if (member.rank() == other) {
      progress_until(member.process(), [&] { return stage == 1; });
      stage = 2;
      exercise(member.create(both, "test.after"), 2);
      return;
    }
    member.end();
    stage = 1;
    // the report says that the other is waiting, so it has sent what it had to where we were
    while (cluster.log().find("\"test.after\"") == std::string::npos) std::this_thread::yield();
    for (int lives = 0; lives < 3; ++lives) {  // it comes back more than once before it calls
      member.begin();
      if (lives < 2) {
        ASSERT_TRUE(member.process().publish_address({}));
        member.end();
      }
    }
    exercise(member.create(both, "test.after"), 2);
  });
}

/// For much longer than it takes to find out that somebody is dead; nobody takes it for that.
TEST_P(Meetings, ARootThatStaysAwayForLong) {
  const auto [world, root, other] = GetParam();
  Cluster cluster(world);
  const Ranks both = {root, other};
  std::atomic<bool> is_away = false;
  cluster.run(both, [&, other = other](Member& member) {
    exercise(member.create(both, "test.before"), 1);
    if (member.rank() == other) {
      progress_until(member.process(), [&] { return is_away.load(); });
      exercise(member.create(both, "test.long"), 2);
      return;
    }
    member.end();
    is_away = true;
    while (!std::regex_search(cluster.log(), std::regex("has waited 3\\."))) std::this_thread::yield();
    member.begin();
    exercise(member.create(both, "test.long"), 2);
  });
}

INSTANTIATE_TEST_SUITE_P(Places, Meetings,
                         ::testing::Values(Meeting{World::of(1, 3), 0, 2}, Meeting{World::of(2, 1), 0, 1},
                                           Meeting{World::of(3, 2), 1, 4}));

/// A process in its first life meets one in its eleventh, and the other way round.
TEST(Lives, ThatDifferByMany) {
  Cluster cluster(World::of(2, 1));
  for (int life = 0; life < 10; ++life)
    cluster.run({0}, [](Member& member) { ASSERT_TRUE(member.process().publish_address({})); });
  cluster.run([](Member& member) { exercise(member.create({0, 1}, "test.old_root"), 1); });
  cluster.run([](Member& member) { exercise(member.create({1, 0}, "test.old_child"), 1); });
}

/// A communicator whose other member has begun anew is of no use any more, and says so.
TEST(Lives, OldCommunicatorsDoNotReachNewLives) {
  Cluster cluster(World::of(2, 1));
  std::atomic<bool> ended = false;
  cluster.run([&](Member& member) {
    CommunicatorPtr old = member.create_world("test.old");
    exercise(old, 1);
    if (member.rank() == 0) {
      old.reset();
      member.end();
      member.begin();
      ended = true;
      exercise(member.create_world("test.new"), 2);
      return;
    }
    progress_until(member.process(), [&] { return ended.load(); });
    CommunicatorPtr fresh = member.create_world("test.new");
    exercise(fresh, 2);
    int value = 1;
    auto request = member.process().engine().isend(old->context(), {&value, 4, types::find_predefined("MPI_BYTE")}, 0, 1,
                                                   p2p::Mode::synchronous);
    if (request) {
      ASSERT_TRUE(member.process().engine().wait(**request));
      ASSERT_NE((*request)->error(), nullptr);
      EXPECT_EQ((*request)->error()->error_class(), base::ErrorClass::proc_aborted);
      member.process().engine().release(*request);
    } else {
      EXPECT_EQ(request.error().error_class(), base::ErrorClass::proc_aborted);
    }
  });
}

}  // namespace
}  // namespace shim::sessions::testing
