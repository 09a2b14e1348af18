// SPDX-License-Identifier: BSD-3-Clause
// Tests processes that finalize their last session and re-initialize, alone and during creations by
// other processes.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <regex>
#include <set>
#include <thread>

#include "cluster.hpp"
#include "memory_in_use.hpp"
#include "tests/base/open_descriptors.hpp"

namespace shim::sessions::testing {
namespace {

/// Make progress, also for other processes, until the condition holds.
void progress_until(Process& process, const std::function<bool()>& condition) {
  auto reached = process.engine().wait_until(condition, base::Deadline::after_seconds(20));
  ASSERT_TRUE(reached && *reached);
}

class Reinitialization : public ::testing::TestWithParam<World> {};

#ifdef __SANITIZE_THREAD__
// An incarnation takes six times as long with the sanitizer; leaks do not depend on the sanitizer.
constexpr int kIncarnations = 30;
#else
constexpr int kIncarnations = 100;
#endif

TEST_P(Reinitialization, LeavesNoFilesDescriptorsOrMemory) {
  Cluster cluster(GetParam());
  auto one_incarnation = [&] {
    cluster.run([](Member& member) {
      CommunicatorPtr world = member.create_world("test.incarnation");
      exercise(world, 1);
      exercise(*duplicate(world, false), 2);
    });
    ASSERT_EQ(cluster.left_over().size(), 0u);
  };
  // the first incarnations make objects that stay: threads' arenas, the launcher's keys
  for (int i = 0; i < 10; ++i) one_incarnation();
  const std::size_t descriptors = base::open_descriptors();
  const std::size_t memory = memory_in_use();
  for (int i = 10; i < kIncarnations; ++i) one_incarnation();
  EXPECT_EQ(base::open_descriptors(), descriptors);
  // The in-memory network and launcher keep a record of each incarnation. On one node they are not
  // used, so memory must not grow.
  if (GetParam().node_map.node_count() == 1) {
    EXPECT_LT(memory_in_use(), memory + 4096);
  }
}

/// Responses of the launcher and messages of the process itself arrive in any order.
TEST(ReinitializationOverNodes, StaleMessagesNeverReplaceALaterIncarnation) {
  Cluster cluster(World::of(2, 1));
  cluster.run({0}, [](Member& member) {
    const base::ProcessId other{0, 1};
    Process& process = member.process();
    process.peers().record_published(other, 2);
    process.peers().record_published(other, 1);
    EXPECT_TRUE(process.peers().has_published(other, 2));
    process.peers().record_published(other, 3);
    EXPECT_TRUE(process.peers().has_published(other, 3));
  });
}

TEST(ReinitializationOverNodes, ExtendedIdsDifferFromThoseOfEarlierIncarnations) {
  Cluster cluster(World::of(2, 1));
  std::set<base::ExtendedId> ids;
  for (int incarnation = 0; incarnation < 3; ++incarnation)
    cluster.run({0}, [&](Member& member) {
      for (int i = 0; i < 2; ++i) ids.insert(member.process().context_ids().make_extended_id());
    });
  EXPECT_EQ(ids.size(), 6u);
}

/// A task is a session over a subset of the processes. Every process runs its tasks in order, and
/// re-initializes for each. So contributions arrive at processes that are still in an earlier task,
/// and that finalize before they use them.
TEST_P(Reinitialization, WorksWithTasksOverChangingSubsets) {
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
        exercise(member.create(tasks[task],
                               task % 2 ? "test.task" : "test.task-" + std::to_string(task)),
                 static_cast<int>(task));
      }
    });
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Worlds, Reinitialization,
                         ::testing::Values(World::of(1, 4), World::of(2, 2), World::dealt(3, 6)));

struct RootReinitializationCase {
  World world;
  int root, other;
};
void PrintTo(const RootReinitializationCase& test_case, std::ostream* out) {
  PrintTo(test_case.world, out);
  *out << ", " << test_case.other << " creates with root " << test_case.root;
}

class RootReinitialization : public ::testing::TestWithParam<RootReinitializationCase> {};

/// The contribution of the other process has arrived. Then the root finalizes, re-initializes, and
/// only now calls.
TEST_P(RootReinitialization, ReturnsTheContributionOfTheOther) {
  const auto [world, root, other] = GetParam();
  Cluster cluster(world);
  const Ranks both = {root, other};
  cluster.run(both, [&, other = other](Member& member) {
    exercise(member.create(both, "test.before"), 1);
    if (member.rank() == other) {
      exercise(member.create(both, "test.given_back"), 2);
      return;
    }
    // The status request follows the contribution on the same link: once the request has been
    // answered, the contribution has arrived.
    auto has_replied = [&] {
      return cluster.log().find("has a session, but is not in any creation") != std::string::npos;
    };
    progress_until(member.process(), has_replied);
    member.end();
    member.begin();
    exercise(member.create(both, "test.given_back"), 2);
  });
}

/// The root has finalized before the other process calls, so no process can notify the other that
/// its contribution is lost.
TEST_P(RootReinitialization, WorksIfTheRootFinalizesBeforeTheOtherCalls) {
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
    // the report shows that the other waits, so it has sent its contribution to the old address
    while (cluster.log().find("\"test.after\"") == std::string::npos) std::this_thread::yield();
    // the root re-initializes several times before it calls
    for (int returns = 0; returns < 3; ++returns) {
      member.begin();
      if (returns < 2) {
        ASSERT_TRUE(member.process().peers().publish({}));
        member.end();
      }
    }
    exercise(member.create(both, "test.after"), 2);
  });
}

/// The root is absent for much longer than the detection of a death takes, and is not taken for
/// dead.
TEST_P(RootReinitialization, WorksIfTheRootIsAbsentForLong) {
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
    while (!std::regex_search(cluster.log(), std::regex("has waited 3\\.")))
      std::this_thread::yield();
    member.begin();
    exercise(member.create(both, "test.long"), 2);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, RootReinitialization,
                         ::testing::Values(RootReinitializationCase{World::of(1, 3), 0, 2},
                                           RootReinitializationCase{World::of(2, 1), 0, 1},
                                           RootReinitializationCase{World::of(3, 2), 1, 4}));

/// A process in its first incarnation and one in its eleventh create communicators, each as root.
TEST(Incarnations, MayDifferByMany) {
  Cluster cluster(World::of(2, 1));
  for (int incarnation = 0; incarnation < 10; ++incarnation)
    cluster.run({0}, [](Member& member) { ASSERT_TRUE(member.process().peers().publish({})); });
  cluster.run([](Member& member) { exercise(member.create({0, 1}, "test.old_root"), 1); });
  cluster.run([](Member& member) { exercise(member.create({1, 0}, "test.old_child"), 1); });
}

/// Operations on a communicator whose other member has re-initialized return an error.
TEST(Incarnations, OldCommunicatorsDoNotReachNewIncarnations) {
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
    auto request = member.process().engine().isend(old->context(),
                                                   {&value, 4, types::find_predefined("MPI_BYTE")},
                                                   0, 1, p2p::SendMode::synchronous);
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
