// SPDX-License-Identifier: BSD-3-Clause
// Tests creations whose members die or exit: the others get an error that names them.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/creations.hpp"
#include "victim.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace shim::sessions::testing
