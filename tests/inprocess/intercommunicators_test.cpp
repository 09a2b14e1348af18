// SPDX-License-Identifier: BSD-3-Clause
// Tests intercommunicators of processes in one program.
#include "shim/sessions/intercommunicator.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

class Intercommunicators : public ::testing::TestWithParam<World> {};

const types::Type& int64() { return *types::find_predefined("MPI_INT64_T"); }

/// Each member sends its rank to each member of the other group.
void exercise_inter(const CommunicatorPtr& inter, int salt) {
  ASSERT_NE(inter, nullptr);
  ASSERT_TRUE(inter->is_inter());
  p2p::Engine& engine = inter->process().engine();
  std::int64_t sent = inter->rank() * 1000 + salt;
  for (int i = 0; i < inter->peers(); ++i) {
    auto request = engine.isend(inter->context(), {&sent, 1, &int64()}, i, 5,
                                p2p::SendMode::standard);
    ASSERT_TRUE(request);
    ASSERT_TRUE(engine.wait(**request));
    engine.release(*request);
  }
  for (int i = 0; i < inter->peers(); ++i) {
    std::int64_t got = -1;
    auto outcome = engine.recv(inter->context(), {&got, 1, &int64()}, i, 5);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(got, i * 1000 + salt);
    EXPECT_EQ(outcome->source, i);
  }
  exercise(inter->local(), salt);
}

CommunicatorPtr make_halves(const CommunicatorPtr& world, int tag) {
  const int color = world->rank() % 2;
  CommunicatorPtr half = *split(world, color, 0);
  auto inter = intercomm_create(half, 0, Bridge{world, 1 - color, tag});
  EXPECT_TRUE(inter) << error_text(inter);
  return inter ? *inter : nullptr;
}

TEST_P(Intercommunicators, AreMadeDuplicatedAndMerged) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.inter");
    CommunicatorPtr inter = make_halves(world, 3);
    exercise_inter(inter, 1);
    EXPECT_EQ(inter->size() + inter->peers(), world->size());
    EXPECT_EQ(compare(*inter, *inter->local()), Comparison::unequal);
    EXPECT_EQ(compare(*inter, *inter), Comparison::identical);
    CommunicatorPtr merged = *merge(inter, world->rank() % 2 == 0);  // odd ranks come first
    EXPECT_EQ(merged->group()->at(0).rank, 1u);
    EXPECT_EQ(merged->size(), world->size());
    exercise(merged, 2);
    EXPECT_EQ((*merge(inter, true))->group()->at(0).rank,
              0u);  // both groups are high: the lowest process comes first
    EXPECT_EQ((*merge(inter, false))->group()->at(0).rank, 0u);
    exercise_inter(*split(inter, 0, -inter->rank()), 3);
    EXPECT_EQ(*split(inter, world->rank() % 2, 0), nullptr);  // no color occurs in both groups
  });
}

/// The receive that an exception ends must not keep a pointer to its buffer, so that the
/// collectives of the intercommunicator fail, as after an exception in any other collective.
TEST(IntercommunicatorOfTwo, MergeThatAnExceptionEndsKeepsNoReceive) {
  Cluster cluster(World::of(1, 2));
  std::atomic<bool> has_thrown{false};
  cluster.run([&](Member& member) {
    CommunicatorPtr world = member.create_world("test.inter.exception");
    CommunicatorPtr inter = make_halves(world, 3);
    if (member.rank() == 0) {
      p2p::Engine& engine = member.process().engine();
      const std::uint64_t work = engine.add_progress([] { throw std::runtime_error("of a user"); });
      EXPECT_THROW(static_cast<void>(merge(inter, true)), std::runtime_error);
      engine.remove_progress(work);
      has_thrown = true;
      EXPECT_THAT(error_text(merge(inter, true)),
                  ::testing::HasSubstr("a member left a collective before it completed"));
    } else {
      while (!has_thrown) std::this_thread::yield();
      for (int i = 0; i < 2; ++i) static_cast<void>(merge(inter, true));  // returns
    }
    exercise(world, 1);
  });
}

TEST_P(Intercommunicators, DuplicatesNeedNoMessages) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.inter.duplicates");
    CommunicatorPtr inter = make_halves(world, 3);
    sum(world, 1);
    const auto before = world->process().engine().counts();
    CommunicatorPtr deep = *duplicate(inter, true);
    CommunicatorPtr deeper = *duplicate(deep, true);
    CommunicatorPtr second = *duplicate(inter, true);
    const auto after = world->process().engine().counts();
    EXPECT_EQ(after.eager_sent, before.eager_sent);
    EXPECT_EQ(after.control_sent, before.control_sent);
    sum(world, 1);
    EXPECT_EQ(compare(*inter, *deep), Comparison::congruent);
    for (const auto& each : {deep, deeper, second, inter}) exercise_inter(each, 7);
    for (int i = 0; i < 130; ++i) second = *duplicate(inter, true);  // uses up the numbers
    exercise_inter(second, 8);
    for (int i = 0; i < 6; ++i) deeper = *duplicate(deeper, true);  // uses up the levels
    exercise_inter(deeper, 9);
  });
}

TEST_P(Intercommunicators, CanBeCreatedFromGroups) {
  Cluster cluster(GetParam());
  const int size = cluster.size();
  cluster.run(range(1, size - 1), [size](Member& member) {  // process 0 is idle
    const bool is_first = member.rank() == 1;
    GroupPtr one = member.group({1}), others = member.group(range(2, size - 1));
    for (int round = 0; round < 3; ++round) {
      base::Result<GroupPtr> remote = is_first ? others : member.rank() == 2 ? one : GroupPtr();
      auto inter = intercomm_create_from_groups(member.session(), is_first ? one : others, 0,
                                                std::move(remote), "tag", nullptr, nullptr);
      ASSERT_TRUE(inter) << error_text(inter);
      exercise_inter(*inter, round);
      EXPECT_EQ(*(*inter)->remote_group(), *(is_first ? others : one));
    }
  });
}

TEST_P(Intercommunicators, ErrorOfALeaderReachesItsGroup) {
  Cluster cluster(GetParam());
  cluster.run([](Member& member) {
    CommunicatorPtr world = member.create_world("test.inter.wrong");
    base::Result<Bridge> wrong = base::Error(base::ErrorClass::tag, "no tag");
    EXPECT_EQ(
        error_text(intercomm_create(world, 1, world->rank() == 1 ? std::move(wrong) : Bridge())),
        "MPI_ERR_TAG: no tag");
    EXPECT_EQ(intercomm_create(world, 0, Bridge{world, 1, 1}).error().error_class(),
              base::ErrorClass::comm);
    auto same = intercomm_create_from_groups(member.session(), world->group(), 0, world->group(),
                                             "tag", nullptr, nullptr);
    EXPECT_EQ(same.error().error_class(), base::ErrorClass::group);
    exercise(world, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Intercommunicators,
                         ::testing::Values(World::of(1, 4), World::of(2, 3), World::dealt(3, 5)));

}  // namespace
}  // namespace shim::sessions::testing
