// SPDX-License-Identifier: BSD-3-Clause
// Tests creations by several threads of a process, in any order of the calls.
#include <gmock/gmock.h>

#include <future>
#include <thread>
#include <tuple>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::StartsWith;

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
                         ::testing::Combine(::testing::ValuesIn(worlds_of_four()),
                                            ::testing::Bool()));

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

}  // namespace
}  // namespace shim::sessions::testing
