// SPDX-License-Identifier: BSD-3-Clause
// Tests the node information of a communicator, and that the algorithms that use it send few
// messages between nodes. data_movement_test and reductions_test check the results of these
// algorithms.
#include "shim/coll/nodes.hpp"

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

std::unique_ptr<const Nodes> nodes_of(const Layout& layout, int own_rank) {
  return LayoutLocality(layout, own_rank).nodes();
}
std::vector<int> list(std::span<const int> ranks) { return {ranks.begin(), ranks.end()}; }
using Ranks = std::vector<int>;

TEST(Nodes, AreNumberedInTheOrderOfTheirLowestRanks) {
  const auto nodes = nodes_of({9, 9, 4, 4, 4, 7}, 3);
  ASSERT_NE(nodes, nullptr);
  EXPECT_EQ(nodes->count(), 3);
  EXPECT_EQ(nodes->own(), 1);
  EXPECT_EQ(list(nodes->leaders()), (Ranks{0, 2, 5}));
  EXPECT_EQ(list(nodes->members()), (Ranks{2, 3, 4}));
  EXPECT_TRUE(nodes->are_in_order());
  Ranks numbers, firsts;
  for (int rank = 0; rank < 6; ++rank) numbers.push_back(nodes->node_of(rank));
  for (int node = 0; node <= 3; ++node) firsts.push_back(nodes->first(node));
  EXPECT_EQ(numbers, (Ranks{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(firsts, (Ranks{0, 2, 5, 6}));
}

TEST(Nodes, RanksMayBeOutOfNodeOrder) {
  const auto nodes = nodes_of({5, 6, 6, 5, 5}, 4);
  ASSERT_NE(nodes, nullptr);
  EXPECT_FALSE(nodes->are_in_order());
  EXPECT_EQ(list(nodes->members()), (Ranks{0, 3, 4}));
  EXPECT_EQ(list(nodes->leaders()), (Ranks{0, 1}));
  Ranks numbers;
  for (int rank = 0; rank < 5; ++rank) numbers.push_back(nodes->node_of(rank));
  EXPECT_EQ(numbers, (Ranks{0, 1, 1, 0, 0}));
}

TEST(Nodes, DoNotExistForOneNodeOrOneMemberANode) {
  EXPECT_EQ(nodes_of({0, 0, 0}, 1), nullptr) << "one node";
  EXPECT_EQ(nodes_of({2, 0, 1}, 1), nullptr) << "one member a node";
}

/// Return the number of packets between nodes in one run of the collective `make`.
std::uint64_t between_nodes(const Layout& layout, const std::function<Task(Comm&)>& make) {
  Rig rig(layout);
  rig.expect_success([](Comm& comm) { return barrier(comm); });
  const auto count = [&] {
    std::uint64_t packets = 0;
    for (std::uint32_t from = 0; from < layout.size(); ++from)
      for (std::uint32_t to = 0; to < layout.size(); ++to)
        if (layout[from] != layout[to]) packets += rig.world().network().sent(from, to);
    return packets;
  };
  const std::uint64_t before = count();
  rig.expect_success(make);
  return count() - before;
}

/// Return a layout of nodes with `each` members.
Layout even(std::uint32_t nodes, std::uint32_t each) {
  Layout layout;
  for (std::uint32_t node = 0; node < nodes; ++node) layout.insert(layout.end(), each, node);
  return layout;
}

struct Kind {
  const char* name;
  std::uint64_t most;  ///< largest allowed number of packets between four nodes
  std::function<Task(Comm&, Items& mine, Items& theirs)> make;
};

TEST(Nodes, PacketsBetweenNodesDoNotGrowWithTheirMembers) {
  const types::Op& sum = types::predefined(types::Operator::sum);
  const auto one = [](Items& items) { return types::Buffer{items.data(), 1, &int64_type()}; };
  const auto from = [](Items& items) { return types::ConstBuffer{items.data(), 1, &int64_type()}; };
  const Kind kinds[] = {
      {"barrier", 8, [](Comm& comm, Items&, Items&) { return barrier(comm); }},
      {"bcast", 3,
       [&](Comm& comm, Items& mine, Items&) { return bcast(comm, one(mine), comm.size() - 1); }},
      {"reduce", 3,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return reduce(comm, from(mine), theirs.data(), 1, int64_type(), sum, 1);
       }},
      {"allreduce", 8,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return allreduce(comm, from(mine), theirs.data(), 1, int64_type(), sum);
       }},
      {"gather", 3,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return gather(comm, from(mine), one(theirs), 1);
       }},
      {"scatter", 3,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return scatter(comm, from(mine), one(theirs), 1);
       }},
      {"allgather", 12,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return allgather(comm, from(mine), one(theirs));
       }},
      {"alltoall", 12,
       [&](Comm& comm, Items& mine, Items& theirs) {
         return alltoall(comm, from(mine), one(theirs));
       }},
  };
  for (const Kind& kind : kinds) {
    for (std::uint32_t each : {2, 3, 4}) {
      const Layout layout = even(4, each);
      std::vector<Items> mine(layout.size(), values(0, layout.size())),
          theirs(layout.size(), untouched(layout.size()));
      const auto packets = between_nodes(layout, [&](Comm& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        return kind.make(comm, mine[rank], theirs[rank]);
      });
      EXPECT_LE(packets, kind.most) << kind.name << ", " << each << " members a node";
      EXPECT_GE(packets, 3U) << kind.name;
    }
  }
}

}  // namespace
}  // namespace shim::coll
