// SPDX-License-Identifier: BSD-3-Clause
// Tests creations whose members disagree: all get an error that names the difference.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <thread>

#include "cluster.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

INSTANTIATE_TEST_SUITE_P(Worlds, Disagreement, ::testing::ValuesIn(worlds_of_four()));

}  // namespace
}  // namespace shim::sessions::testing
