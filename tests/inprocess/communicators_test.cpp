// SPDX-License-Identifier: BSD-3-Clause
// Tests communicators made from communicators.
#include <atomic>

#include "cluster.hpp"
#include "shim/sessions/intercommunicator.hpp"
#include "shim/sessions/neighbours.hpp"
#include "shim/sessions/survivors.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions::testing {
namespace {

/// One node, several nodes, and ranks placed so that neighbours are on different nodes.
class Communicators : public ::testing::TestWithParam<World> {};

TEST_P(Communicators, DuplicatesWorkAndNeedNoMessages) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.duplicates");
    ASSERT_NE(world, nullptr);
    exercise(world, 1);
    const auto before = world->process().engine().counts();
    std::vector<CommunicatorPtr> copies;
    for (int i = 0; i < 20; ++i) copies.push_back(*duplicate(world, false));
    CommunicatorPtr deep = copies[3];
    for (int depth = 0; depth < 3; ++depth) deep = *duplicate(deep, false);
    const auto after = world->process().engine().counts();
    EXPECT_EQ(after.eager_sent, before.eager_sent);
    EXPECT_EQ(after.control_sent, before.control_sent);
    for (int i = 0; i < 20; ++i) exercise(copies[static_cast<std::size_t>(i)], i);
    exercise(deep, 77);
    EXPECT_EQ(compare(*world, *deep), Comparison::congruent);
    EXPECT_EQ(compare(*world, *world), Comparison::identical);
    EXPECT_EQ(sum(world, 1), world->size());
  });
}

TEST_P(Communicators, DuplicatesMayExceedTheContextIds) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.many");
    std::vector<CommunicatorPtr> kept;
    for (int i = 0; i < 300; ++i) {
      auto copy = duplicate(world, false);
      ASSERT_TRUE(copy) << copy.error().text();
      if (i % 50 == 0) kept.push_back(*copy);
    }
    CommunicatorPtr deep = world;
    for (int depth = 0; depth < 10; ++depth) {
      auto next = duplicate(deep, false);
      ASSERT_TRUE(next);
      deep = *next;
    }
    for (std::size_t i = 0; i < kept.size(); ++i) exercise(kept[i], static_cast<int>(i));
    exercise(deep, 99);
  });
}

TEST_P(Communicators, SplitGroupsByColorAndKey) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  cluster.run([size](Member& member) {
    CommunicatorPtr world = member.create_world("test.split");
    const int rank = world->rank();
    CommunicatorPtr half = *split(world, rank % 2, rank);
    EXPECT_EQ(half->size(), (size + (rank % 2 == 0)) / 2);
    exercise(half, 1);
    CommunicatorPtr reversed = *split(world, 0, -rank);
    EXPECT_EQ(reversed->rank(), size - 1 - rank);
    EXPECT_EQ(compare(*world, *reversed), Comparison::similar);
    exercise(reversed, 2);
    CommunicatorPtr part = *split(world, rank == 0 ? kUndefined : 7, 0);
    EXPECT_EQ(part == nullptr, rank == 0);
    if (part) {
      exercise(part, 3);
      EXPECT_EQ(compare(*world, *part), Comparison::unequal);
      EXPECT_NE(part->id(), world->id());
    }
    auto wrong = split(world, -5, 0);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().error_class(), base::ErrorClass::arg);
    CommunicatorPtr node = *split_by_node(world, 0);
    for (int i = 0; i < node->size(); ++i) {
      const auto& nodes = member.process().bootstrap().node_map();
      EXPECT_EQ(nodes.node_of(node->group()->at(i).rank),
                nodes.node_of(static_cast<std::uint32_t>(member.rank())));
    }
    exercise(node, 4);
  });
}

TEST_P(Communicators, CreateAndCreateGroupWork) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  cluster.run([size](Member& member) {
    CommunicatorPtr world = member.create_world("test.groups");
    const bool is_even = world->rank() % 2 == 0;
    GroupPtr evens = member.group(range(0, size - 1, 2));
    GroupPtr odds = set_difference(*world->group(), *evens);
    if (is_even) {  // odd ranks pass another group to the first call
      CommunicatorPtr some = *create_subgroup(world, evens, 33);
      EXPECT_EQ(*some->group(), *evens);
      exercise(some, 5);
    } else {
      auto refused = create_subgroup(world, evens, 33);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().error_class(), base::ErrorClass::group);
    }
    exercise(*create(world, is_even ? evens : odds), 6);  // two disjoint groups in one call
    for (int i = 0; i < 200; ++i) {  // also after the context paths are used up
      CommunicatorPtr created = *create(world, evens);
      EXPECT_EQ(created != nullptr, is_even);
      if (created && i % 60 == 0) exercise(created, i);
    }
    auto strangers = create(*split(world, is_even, 0), world->group());
    ASSERT_FALSE(strangers);
    EXPECT_EQ(strangers.error().error_class(), base::ErrorClass::group);
    EXPECT_EQ(*create(world, Group::empty()), nullptr);
    exercise(world, 7);
  });
}

TEST_P(Communicators, GridsHaveTheCoordinatesOfTheStandard) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  ASSERT_GE(size, 4);
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.grids");
    CommunicatorPtr grid = *cart_create(world, {{2, 2}, {0, 5}, true});
    EXPECT_EQ(grid == nullptr, world->rank() >= 4);
    if (grid) {
      EXPECT_EQ(grid->cartesian()->coords,
                (std::vector<int>{world->rank() / 2, world->rank() % 2}));
      EXPECT_EQ(grid->cartesian()->periods, (std::vector<int>{0, 1}));
      exercise(grid, 1);
      CommunicatorPtr row = *cart_sub(grid, {0, 1});
      EXPECT_EQ(row->group()->at(0).rank, static_cast<std::uint32_t>(world->rank() / 2 * 2));
      EXPECT_EQ(row->cartesian()->dims, (std::vector<int>{2}));
      EXPECT_EQ(row->cartesian()->coords, (std::vector<int>{world->rank() % 2}));
      exercise(row, 2);
      CommunicatorPtr column = *cart_sub(grid, {1, 0});
      EXPECT_EQ(column->group()->at(1).rank, static_cast<std::uint32_t>(world->rank() % 2 + 2));
      exercise(column, 3);
      CommunicatorPtr point = *cart_sub(grid, {0, 0});
      EXPECT_EQ(point->size(), 1);
      EXPECT_TRUE(point->cartesian()->dims.empty());
      EXPECT_EQ((*duplicate(grid, true))->cartesian()->dims, grid->cartesian()->dims);
      EXPECT_FALSE((*duplicate(grid, false))->cartesian());
      EXPECT_EQ(cart_sub(grid, {1}).error().error_class(), base::ErrorClass::dims);
    }
    EXPECT_EQ(cart_create(world, {{world->size(), 2}, {0, 0}, false}).error().error_class(),
              base::ErrorClass::dims);
    EXPECT_EQ(cart_create(world, {{0, 2}, {0, 0}, false}).error().error_class(),
              base::ErrorClass::dims);
    EXPECT_EQ(cart_create(world, {{2}, {0, 0}, false}).error().error_class(),
              base::ErrorClass::dims);
    EXPECT_EQ(cart_sub(world, {1}).error().error_class(), base::ErrorClass::topology);
    exercise(world, 4);
  });
}

TEST_P(Communicators, NeighboursAreInTheOrderOfTheStandard) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.neighbours");
    const int rank = world->rank(), size = world->size();
    EXPECT_EQ(neighbours_of(*world).error().error_class(), base::ErrorClass::topology);
    if (CommunicatorPtr grid = *cart_create(world, {{2, 2}, {0, 1}, false})) {
      const int row = rank / 2, column = rank % 2, beside = row * 2 + (1 - column);
      const Neighbours found = *neighbours_of(*grid);
      EXPECT_EQ(found.sources,
                (std::vector<int>{row == 0 ? p2p::kProcNull : column,
                                  row == 1 ? p2p::kProcNull : 2 + column, beside, beside}));
      EXPECT_EQ(found.destinations, found.sources);
    }
    Graph star;  // all other ranks have only rank 0 as neighbour
    for (int i = 1; i < size; ++i) star.edges.push_back(i);
    star.index.push_back(size - 1);
    for (int i = 1; i < size; ++i) star.edges.push_back(0), star.index.push_back(size - 1 + i);
    const EdgeList ring{
        {(rank + 1) % size}, {1}, {(rank + 2) % size}, {rank}, true};  // an edge of another process
    for (bool reorder : {false, true}) {
      CommunicatorPtr graph = *graph_create(world, star, reorder);
      EXPECT_EQ(neighbours_of(*graph)->sources, star.neighbours(graph->rank()));
      EXPECT_EQ(neighbours_of(*graph)->destinations, star.neighbours(graph->rank()));
      CommunicatorPtr copy = *duplicate(graph, true);
      EXPECT_EQ(neighbours_of(*copy)->sources, star.neighbours(graph->rank()));
      CommunicatorPtr circle = *dist_graph_create(world, ring, reorder);
      const int place = circle->rank();
      EXPECT_EQ(neighbours_of(*circle)->sources, (std::vector<int>{(place + size - 1) % size}));
      EXPECT_EQ(neighbours_of(*circle)->destinations, (std::vector<int>{(place + 1) % size}));
      EXPECT_EQ(circle->distributed_graph()->destination_weights,
                (std::vector<int>{(place + size - 1) % size}));
      exercise(circle, 1);
      EdgeList wrong = ring;
      if (rank == 1) wrong.destinations[0] = size;
      EXPECT_EQ(dist_graph_create(world, wrong, reorder).error().error_class(),
                rank == 1 ? base::ErrorClass::rank : base::ErrorClass::arg);
      DistributedGraph adjacent{{(rank + 1) % size}, {}, {(rank + 1) % size}, {}, false};
      if (rank == 1) adjacent.sources[0] = -1;
      EXPECT_EQ(dist_graph_create_adjacent(world, adjacent, reorder).has_value(), rank != 1)
          << "the other members must not wait";
      exercise(world, 2);
    }
  });
}

TEST_P(Communicators, TopologiesCanBeCreatedFromGroups) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    const FromGroup from{member.session(), member.group({0, 1, 2, 3}), "test.from_group", nullptr,
                         nullptr};
    if (member.rank() >= 4) return;
    for (bool reorder : {false, true}) {
      CommunicatorPtr grid = *cart_create_from_group(from, {{2, 2}, {1, 1}, reorder});
      exercise(grid, 1);
      EXPECT_EQ(grid->cartesian()->coords, (std::vector<int>{grid->rank() / 2, grid->rank() % 2}));
    }
    CommunicatorPtr line = *cart_create_from_group(from, {{3}, {0}, false});
    EXPECT_EQ(line == nullptr, member.rank() == 3);
    if (line) exercise(line, 2);
    for (bool reorder : {false, true}) {
      exercise(*graph_create_from_group(from, {{1, 2, 3, 4}, {1, 2, 3, 0}}, reorder), 3);
      exercise(
          *dist_graph_create_adjacent_from_group(
              from, DistributedGraph{{member.rank()}, {}, {member.rank()}, {}, false}, reorder),
          4);
      exercise(*dist_graph_create_from_group(from, EdgeList{{0}, {1}, {1}, {}, false}, reorder), 5);
    }
  });
}

/// The std::hash values of the names of the last two sets have equal low 31 bits.
TEST_P(Communicators, SplitByProcessSetSeparatesDifferentSetsOnly) {
  base::Settings settings = Cluster::settings();
  settings.psets = "test://set-7815=0-1;test://set-54133=2-3";
  Cluster cluster(GetParam(), settings);
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.psets");
    const auto split_by = [&](const std::string& name) {
      auto part = split_by_pset(world, name, 0);
      EXPECT_TRUE(part) << part.error().text();
      return part ? *part : nullptr;
    };
    EXPECT_EQ(compare(*world, *split_by(member.rank() % 2 == 0 ? "mpi://WORLD" : "MPI://World")),
              Comparison::congruent)
        << "one set has two spellings";
    EXPECT_EQ(split_by("mpi://SELF")->size(), 1) << "one name, a set for each process";
    EXPECT_EQ(compare(*split_by("mpix://SHARED"), **split_by_node(world, 0)), Comparison::congruent)
        << "one name, a set for each node";
    CommunicatorPtr pair = split_by(member.rank() < 2 ? "test://set-7815" : "test://set-54133");
    ASSERT_EQ(pair != nullptr, member.rank() < 4);
    if (pair) {
      EXPECT_EQ(*pair->group(), *member.group(member.rank() < 2 ? Ranks{0, 1} : Ranks{2, 3}));
      exercise(pair, 1);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Communicators,
                         ::testing::Values(World::of(1, 4), World::of(2, 3), World::dealt(3, 5)));

/// Return the context base that this process took last.
std::uint32_t last_context_base(Process& process) {
  const std::uint32_t next = process.context_ids().take_base();
  process.vcis().skip_base(next);
  return next - 1;
}

void expect_last_base_ended(const Member& member, const char* call) {
  Process& process = member.process();
  EXPECT_TRUE(process.vcis().all_engines()->ended_bases()->contains(last_context_base(process)))
      << call;
}

/// Messages to such a base would be kept forever.
TEST_P(Communicators, FailedCallsKeepNoContextBase) {
  Cluster cluster(GetParam());
  std::atomic<int> merged = 0;
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.failed");
    CommunicatorPtr half = *split(world, world->rank() % 2, 0);
    CommunicatorPtr inter = *intercomm_create(half, 0, Bridge{world, 1 - world->rank() % 2, 3});
    EXPECT_FALSE(merge(inter, world->rank() < 2)) << "members of a group pass different values";
    expect_last_base_ended(member, "merge with different values");
    // no member revokes before all have merged
    ++merged;
    const auto waited = member.process().engine().wait_until(
        [&] { return merged == cluster.size(); }, base::Deadline::after_seconds(20));
    ASSERT_TRUE(waited && *waited);
    for (const CommunicatorPtr& comm : {world, inter}) revoke(*comm);
    EXPECT_FALSE(split(world, 0, 0));
    expect_last_base_ended(member, "split");
    EXPECT_FALSE(split(inter, 0, 0));
    expect_last_base_ended(member, "split of an intercommunicator");
    EXPECT_FALSE(merge(inter, false));
    expect_last_base_ended(member, "merge");
  });
}

TEST(Communicator, IsListedAsObjectOfItsSession) {
  Cluster cluster(World::of(1, 1));
  cluster.run([](Member& member) {
    CommunicatorPtr self = member.create({0}, "test.self");
    EXPECT_EQ(member.session()->living_objects(),
              std::vector<std::string>{
                  "communicator without a name of 1 process (with creation tag \"test.self\")"});
    self->set_name("forgotten");
    EXPECT_EQ(member.session()->living_objects(),
              std::vector<std::string>{
                  "communicator \"forgotten\" of 1 process (with creation tag \"test.self\")"});
    CommunicatorPtr copy = *duplicate(self, false);
    EXPECT_EQ(copy->name(), "");
    EXPECT_EQ(copy->description(),
              "communicator without a name of 1 process (derived from one with creation tag "
              "\"test.self\")");
    EXPECT_EQ(member.session()->living_objects().size(), 2u);
    member.end();  // the communicators keep the process alive
    exercise(copy, 1);
    self.reset();
    exercise(copy, 2);
  });
}

}  // namespace
}  // namespace shim::sessions::testing
