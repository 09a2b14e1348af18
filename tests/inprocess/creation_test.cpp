// SPDX-License-Identifier: BSD-3-Clause
// Tests the creation of communicators from groups: participants, their order, and late members, on
// one node and on several.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/topology_comm.hpp"
#include "tests/base/deep_stack.hpp"

namespace shim::sessions::testing {
namespace {

using std::chrono_literals::operator""ms;

class Creation : public ::testing::TestWithParam<World> {};

TEST_P(Creation, WorksForTheWorldAndForSelf) {
  Cluster cluster(GetParam());
  Collected<base::ExtendedId> ids;
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.world");
    exercise(world, 1);
    EXPECT_EQ(world->rank(), member.rank());
    EXPECT_EQ(*world->group(), *member.world());
    ids.add(world->id());
    const auto before = member.process().engine().counts().control_sent;
    exercise(member.create({member.rank()}, "test.self"), 2);
    EXPECT_EQ(member.process().engine().counts().control_sent, before);
    EXPECT_EQ(*create_from_group(member.session(), Group::empty(), "test.empty", nullptr, nullptr),
              nullptr);
  });
  EXPECT_THAT(ids.values(), ::testing::Each(ids.values().front()));
}

TEST_P(Creation, SubsetNeedsNoOtherProcesses) {
  Cluster cluster(GetParam());
  const Ranks members = range(0, cluster.size() - 1, 2);
  cluster.run(range(0, cluster.size() - 1, 1), [&](Member& member) {
    if (member.rank() % 2 == 1) return;  // only has a session
    for (int i = 0; i < 3; ++i) exercise(member.create(members, "test.subset"), i);
  });
  cluster.run(members, [&](Member& member) { exercise(member.create(members, "test.subset"), 9); });
}

TEST_P(Creation, TagCanBeReusedAtOnce) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    std::vector<CommunicatorPtr> kept;
    for (int i = 0; i < 30; ++i) kept.push_back(member.create_world("test.again"));
    for (std::size_t i = 0; i < kept.size(); ++i) exercise(kept[i], static_cast<int>(i));
    for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_NE(kept[i]->id(), kept[0]->id());
  });
}

/// Creations with a late member use messages. On a busy machine this may happen to any round, but
/// not to all rounds.
TEST(CreationOnOneNode, SendsNoControlMessage) {
  Cluster cluster(World::of(1, 4));
  constexpr int kRounds = 50;
  std::array<std::atomic<int>, kRounds> with_messages{};
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.first");
    for (auto& messages : with_messages) {
      exercise(world, 1);  // synchronizes the members
      const auto before = member.process().engine().counts().control_sent;
      exercise(member.create_world("test.no-message"), 2);
      if (member.process().engine().counts().control_sent != before) ++messages;
    }
  });
  EXPECT_TRUE(std::ranges::any_of(with_messages, [](const auto& members) { return members == 0; }));
}

/// Keys with long tags exceed the name of a rendezvous; other creations are made in between.
TEST(CreationOnOneNode, LongTagsUseMessages) {
  Cluster cluster(World::of(1, 3));
  cluster.run([&](Member& member) {
    const std::string longest(node::kMaxRendezvousName, 'x');
    for (int i = 0; i < 5; ++i) {
      const auto before = member.process().engine().counts().control_sent;
      exercise(member.create_world(longest), i);
      EXPECT_GT(member.process().engine().counts().control_sent, before);
      exercise(member.create_world("test.short"), i);
    }
  });
}

/// Overwrite memory of calls that have ended: a pointer into it then leads nowhere.
[[gnu::noinline]] void overwrite_stack() {
  volatile std::byte frame[64 * 1024];
  for (volatile std::byte& byte : frame) byte = std::byte{0xff};
}

/// For example, a reduction operation of the program ends the thread, by an exception or otherwise.
/// A later message about another creation must not reach the call that has ended.
TEST(CreationOnOneNode, CallThatAnExceptionEndsIsForgotten) {
  Cluster cluster(World::of(1, 2));
  cluster.run([&](Member& member) {
    if (member.rank() == 0) {
      p2p::Engine& engine = member.process().engine();
      const std::uint64_t work = engine.add_progress([] { throw std::runtime_error("of a user"); });
      EXPECT_THROW(base::run_deep_in_the_stack([&] {
                     static_cast<void>(member.try_create({0, 1}, "test.abandoned"));
                   }),
                   std::runtime_error);
      base::run_deep_in_the_stack(overwrite_stack);
      engine.remove_progress(work);
    }
    const std::string uses_messages(node::kMaxRendezvousName, 'x');
    exercise(member.create_world(uses_messages), 1);
  });
}

/// The other members get an error, because they have the contribution of the call that has ended.
TEST_P(Creation, CallByMessagesThatAnExceptionEndsFailsForAll) {
  base::Settings settings = Cluster::settings();
  settings.create_timeout = 5;
  Cluster cluster(GetParam(), settings);
  const std::string tag(node::kMaxRendezvousName, 'x');  // too long for a rendezvous
  for (int thrower : {0, cluster.size() - 1}) {
    std::atomic<bool> has_thrown{false};
    cluster.run([&](Member& member) {
      if (member.rank() == thrower) {
        p2p::Engine& engine = member.process().engine();
        const std::uint64_t work = engine.add_progress(
            [] { throw std::runtime_error("of a user"); });
        EXPECT_THROW(static_cast<void>(member.try_create(cluster.all(), tag)), std::runtime_error);
        engine.remove_progress(work);
        has_thrown = true;
      } else {
        while (!has_thrown) std::this_thread::yield();  // else the creation may succeed before
        EXPECT_THAT(error_text(member.try_create(cluster.all(), tag)),
                    ::testing::HasSubstr("an exception or pthread_exit has ended the call of "
                                         "process " +
                                         std::to_string(thrower)));
      }
      exercise(member.create_world("test.after"), 1);
      exercise(member.create_world(tag), 2);
    });
  }
}

/// A call that an exception ends at a rendezvous has not called: the thread may call again.
TEST(CreationOnOneNode, CallThatAnExceptionEndsMayBeRepeated) {
  Cluster cluster(World::of(1, 3));
  std::atomic<bool> has_thrown{false};
  cluster.run([&](Member& member) {
    if (member.rank() == 1) {
      p2p::Engine& engine = member.process().engine();
      const std::uint64_t work = engine.add_progress([] { throw std::runtime_error("of a user"); });
      EXPECT_THROW(static_cast<void>(member.try_create(cluster.all(), "test.repeated")),
                   std::runtime_error);
      engine.remove_progress(work);
      has_thrown = true;
    }
    while (!has_thrown) std::this_thread::yield();
    exercise(member.create_world("test.repeated"), 1);
  });
}

TEST_P(Creation, DisjointGroupsMayUseOneTag) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  cluster.run([&](Member& member) {
    for (int i = 0; i < 5; ++i) {
      const int stride = i % 2 ? 2 : 1;  // halves, then odd and even
      const bool first = stride == 1 ? member.rank() < size / 2 : member.rank() % 2 == 0;
      const Ranks mine = stride == 1 ? (first ? range(0, size / 2 - 1) : range(size / 2, size - 1))
                                     : range(first ? 0 : 1, size - 1, 2);
      exercise(member.create(mine, "test.disjoint"), i);
    }
  });
}

TEST_P(Creation, ChainOfOverlappingGroupsMayUseOneTag) {
  Cluster cluster(GetParam());
  cluster.run([&](Member& member) {
    for (int first = 0; first + 1 < cluster.size(); ++first)
      if (member.rank() == first || member.rank() == first + 1)
        exercise(member.create({first, first + 1}, "test.chain"), first);
  });
}

TEST_P(Creation, SeveralThreadsMayCreateFromOverlappingGroups) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  cluster.run([&](Member& member) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      // each process starts the creations in another order
      threads.emplace_back([&, number = (t + member.rank()) % 4] {
        const Ranks group = number % 2 == 0 ? range(0, size - 1) : range(number / 2, size - 1);
        const bool is_member = number % 2 == 0 || member.rank() >= number / 2;
        for (int i = 0; is_member && i < 5; ++i)
          exercise(member.create(group, "test.thread-" + std::to_string(number)), number * 10 + i);
      });
    for (auto& thread : threads) thread.join();
  });
}

TEST_P(Creation, CommunicatorsOfEqualGroupsShareOneGroup) {
  Cluster cluster(GetParam());
  cluster.run([&](Member& member) {
    CommunicatorPtr one = member.create_world("test.one"),
                    other = member.create_world("test.other");
    EXPECT_EQ(one->group(), other->group());
    EXPECT_EQ((*create(one, member.world()))->group(), one->group());
    exercise(one, 1);
    exercise(other, 2);
  });
}

TEST_P(Creation, RanksMayHaveAnyOrder) {
  Cluster cluster(GetParam());
  Ranks reversed = cluster.all();
  std::reverse(reversed.begin(), reversed.end());
  cluster.run([&](Member& member) {
    CommunicatorPtr comm = member.create(reversed, "test.reversed");
    EXPECT_EQ(comm->rank(), cluster.size() - 1 - member.rank());
    exercise(comm, 4);
  });
}

TEST_P(Creation, WaitsForMembersThatBeginLate) {
  Cluster cluster(GetParam());
  for (int late : {0, cluster.size() - 1}) {
    std::vector<std::thread> threads;
    std::atomic<int> done = 0;
    for (int rank : cluster.all())
      threads.emplace_back([&, rank] {
        if (rank == late) {
          std::this_thread::sleep_for(30ms);
          EXPECT_EQ(done.load(), 0);
        }
        Member member(cluster, rank);
        exercise(member.create_world("test.late"), late);
        ++done;
      });
    for (auto& thread : threads) thread.join();
  }
}

TEST_P(Creation, ContextBasesMayDiffer) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    for (int i = 0; i < member.rank(); ++i) member.process().context_ids().take_base();
    CommunicatorPtr world = member.create_world("test.bases");
    EXPECT_FALSE(world->parts().context.bases->by_rank.empty());
    exercise(world, 1);
    CommunicatorPtr reversed = *split(world, 0, -world->rank());
    exercise(reversed, 2);
    exercise(*duplicate(reversed, false), 3);
    if (CommunicatorPtr some = *create(reversed,
                                       *include(*reversed->group(), std::vector<int>{2, 0})))
      exercise(some, 4);
  });
}

TEST_P(Creation, RefusesGroupsWithoutTheCallerOrWithUnknownProcesses) {
  Cluster cluster(GetParam());
  cluster.run([&](Member& member) {
    auto others = member.try_create({(member.rank() + 1) % cluster.size()}, "test.others");
    EXPECT_THAT(error_text(others), ::testing::StartsWith("MPI_ERR_GROUP"));
    auto strangers = create_from_group(
        member.session(), set_union(*member.world(), *Group::of_ranges({{0, 5000, 1, 1}})),
        "test.strangers", nullptr, nullptr);
    EXPECT_THAT(error_text(strangers), ::testing::StartsWith("MPI_ERR_GROUP"));
    exercise(member.create_world("test.after"), 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Creation,
                         ::testing::Values(World::of(1, 4), World::of(2, 3), World::dealt(3, 7),
                                           World::of(4, 1)));

class ExchangeStrategies : public ::testing::TestWithParam<std::string> {};

TEST_P(ExchangeStrategies, CreateFromSubsetsOverNodes) {
  base::Settings settings = Cluster::settings();
  settings.exchange = GetParam();
  Cluster cluster(World::of(3, 2), settings);
  const bool all_must_call = GetParam() == "world_fence";
  cluster.run([&](Member& member) {
    for (int i = 0; i < 4; ++i) {
      const Ranks group = i % 2 ? range(1, 5) : range(0, 5, 2);
      const bool is_member = std::find(group.begin(), group.end(), member.rank()) != group.end();
      if (is_member || all_must_call) {
        GroupPtr mine = is_member ? member.group(group) : Group::empty();
        auto created = create_from_group(member.session(), mine, "test.exchange", nullptr, nullptr);
        ASSERT_TRUE(created) << created.error().text();
        EXPECT_EQ(*created != nullptr, is_member);
        if (is_member) exercise(*created, i);
      }
    }
    exercise(member.create_world("test.exchange"), 9);
    exercise(member.create({member.rank()}, "test.self"), 10);
  });
  cluster.run({0}, [&](Member& member) {
    EXPECT_EQ(member.process().bootstrap().counts().fences,
              0u);  // counts of this incarnation; a group of one needs no launcher
    exercise(member.create({0}, "test.self"), 1);
    EXPECT_EQ(member.process().bootstrap().counts().fences, 0u);
  });
}

/// With the exchange world_fence, members of the group that are not in the topology, and processes
/// outside the group, take part in the fence.
class WorldFence : public ::testing::Test {
 protected:
  static base::Settings settings() {
    base::Settings settings = Cluster::settings();
    settings.exchange = "world_fence";
    settings.create_timeout = 10;
    return settings;
  }
  Cluster cluster{World::of(2, 2), settings()};
};

TEST_F(WorldFence, IncludesMembersBeyondTheTopology) {
  cluster.run([&](Member& member) {
    const FromGroup from{member.session(), member.world(), "test.topology", nullptr, nullptr};
    for (int size : {1, 2, 3}) {
      auto grid = cart_create_from_group(from, {{size}, {0}, false});
      ASSERT_TRUE(grid) << grid.error().text();
      ASSERT_EQ(*grid != nullptr, member.rank() < size);
      if (*grid) exercise(*grid, size);
      Graph points;
      points.index.assign(static_cast<std::size_t>(size - 1), 0);
      auto graph = graph_create_from_group(from, points, false);
      ASSERT_TRUE(graph) << graph.error().text();
      ASSERT_EQ(*graph != nullptr, member.rank() < size - 1);
      if (*graph) exercise(*graph, size);
    }
    exercise(member.create_world("test.after"), 1);
  });
}

TEST_F(WorldFence, IncludesProcessesOutsideTheGroupOfATopology) {
  cluster.run([&](Member& member) {
    if (member.rank() == 3) {
      auto none = create_from_group(member.session(), Group::empty(), "test.topology", nullptr,
                                    nullptr);
      ASSERT_TRUE(none) << none.error().text();
    } else {
      auto point = cart_create_from_group(
          {member.session(), member.group({0, 1, 2}), "test.topology", nullptr, nullptr},
          {{1}, {0}, false});
      ASSERT_TRUE(point) << point.error().text();
      EXPECT_EQ(*point != nullptr, member.rank() == 0);
    }
    exercise(member.create_world("test.after"), 1);
  });
}

/// A group of one process has no fence. Processes that call with MPI_GROUP_EMPTY for it wait for
/// nothing, and the program's author must learn why.
TEST(WorldFenceOfOneMember, CallersWithTheEmptyGroupLearnWhyTheyWait) {
  base::Settings settings = Cluster::settings();
  settings.exchange = "world_fence";
  settings.report_after = 0.1;
  settings.create_timeout = 0.5;
  Cluster cluster(World::of(1, 2), settings);
  cluster.run([&](Member& member) {
    if (member.rank() == 0) {
      exercise(member.create({0}, "test.one"), 1);
    } else {
      auto none = create_from_group(member.session(), Group::empty(), "test.one", nullptr, nullptr);
      EXPECT_THAT(error_text(none), ::testing::HasSubstr("for a group of one process, only its"));
    }
  });
  EXPECT_THAT(cluster.log(), ::testing::HasSubstr("have entered the fence yet; with INTERSESSION"));
}

/// The early fence is over the first process of each node. It may never complete.
TEST(EarlyFence, DoesNotWaitForNodesWithoutSessions) {
  base::Settings settings = Cluster::settings();
  settings.exchange = "ifence";
  Cluster cluster(World::of(3, 2), settings);
  cluster.run({0, 1, 2, 3}, [&](Member& member) {
    EXPECT_EQ(member.process().bootstrap().counts().fences, member.rank() % 2 == 0 ? 1u : 0u);
    exercise(member.create({0, 1, 2, 3}, "test.some"), 1);
    exercise(member.rank() % 2 ? member.create({1, 3}, "test.seconds")
                               : member.create({2, 0}, "test.firsts"),
             2);
  });
  cluster.run([&](Member& member) {
    // processes that re-initialize have a new address, and enter no fence again
    EXPECT_EQ(member.process().bootstrap().counts().fences, member.rank() == 4 ? 1u : 0u);
    exercise(member.create_world("test.all"), 3);
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, ExchangeStrategies,
                         ::testing::Values("modex", "ring", "ifence", "fence", "world_fence"));

TEST(EverythingOverFabric, NeedsNoSharedMemory) {
  base::Settings settings = Cluster::settings();
  settings.transport = "fabric";
  Cluster cluster(World::of(2, 3), settings);
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.fabric");
    exercise(world, 1);
    exercise(*split_by_node(world, 0), 2);
    EXPECT_EQ(cluster.left_over().size(), 0u);
  });
}

TEST(OneProcessPerNode, NeedsNoSharedMemory) {
  Cluster cluster(World::of(3, 1));
  cluster.run([&](Member& member) {
    exercise(member.create_world("test.sparse"), 1);
    EXPECT_EQ(cluster.left_over().size(), 0u);
  });
}

TEST(FaultyNetwork, CreationsCompleteDespiteDelaysAndFullQueues) {
  transport::LoopFaults faults{
      .seed = 7, .again_chance = 0.3, .max_delay = 20, .reorder_pairs = true, .outbox_polls = 3};
  faults.queue_limit = 4;
  faults.max_packet_bytes = 256;  // creation messages are split into several packets
  Cluster cluster(World::of(4, 2), Cluster::settings(), faults);
  cluster.run([](Member& member) {
    for (int i = 0; i < 5; ++i) exercise(member.create_world("test.faults"), i);
  });
}

TEST(SlowLauncher, DoesNotFailTheCreation) {
  Cluster cluster(World::of(3, 2));
  using bootstrap::inmem::Fault;
  using bootstrap::inmem::LauncherCall;
  cluster.launcher().set_faults([](const LauncherCall& operation) {
    return operation.kind == LauncherCall::Type::lookup ? Fault::slow(50) : Fault{};
  });
  cluster.run([](Member& member) { exercise(member.create_world("test.slow"), 1); });
}

TEST(FailingLauncher, FailsTheCreationAtAllMembers) {
  Cluster cluster(World::of(2, 2));
  using bootstrap::inmem::Fault;
  using bootstrap::inmem::LauncherCall;
  cluster.launcher().set_faults([](const LauncherCall& operation) {
    return operation.kind == LauncherCall::Type::publish ? Fault::failing() : Fault{};
  });
  cluster.run([](Member& member) {
    EXPECT_NE(error_text(member.try_create(range(0, 3), "test.failing")), "");
    const int first = member.rank() / 2 * 2;
    exercise(member.create({first, first + 1}, "test.node"), 1);  // one node needs no launcher
  });
}

}  // namespace
}  // namespace shim::sessions::testing
