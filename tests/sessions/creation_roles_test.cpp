// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_roles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace shim::sessions {
namespace {

/// Return a map of `size` processes on `nodes` hosts, round-robin or in blocks.
bootstrap::NodeMap map_of(std::uint32_t nodes, std::uint32_t size, bool in_turn) {
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t n = 0; n < nodes; ++n) hosts.push_back("n" + std::to_string(n));
  for (std::uint32_t r = 0; r < size; ++r)
    node_of.push_back(in_turn ? r % nodes : r * nodes / size);
  return {hosts, node_of};
}

/// Return the roles that each member computes on its own.
std::vector<CreationRoles> all_roles(const Group& group, const bootstrap::NodeMap& nodes,
                                     bool each_alone, TreeShape shape = TreeShape::binomial) {
  std::vector<CreationRoles> roles;
  for (int rank = 0; rank < group.size(); ++rank)
    roles.push_back(roles_in(group, group.at(rank), {nodes, each_alone, shape}));
  return roles;
}

/// Return this root and its descendants, in ascending order.
std::vector<int> subtree_of(const std::vector<CreationRoles>& roles, int node_leader) {
  std::vector<int> all = {node_leader};
  for (int child : roles[static_cast<std::size_t>(node_leader)].children) {
    const auto below = subtree_of(roles, child);
    all.insert(all.end(), below.begin(), below.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Check that the roles form a tree: each member has one parent, and each path ends at rank 0.
void expect_tree(const std::vector<CreationRoles>& roles) {
  std::map<int, int> upward;  // rank -> rank that it sends to
  for (const auto& r : roles) {
    if (!r.is_node_leader())
      upward[r.self] = r.node_leader;
    else if (r.parent)
      upward[r.self] = *r.parent;
    else
      EXPECT_EQ(r.self, 0);
  }
  for (const auto& r : roles) {
    std::vector<int> expected;
    for (const auto& [from, to] : upward)
      if (to == r.self) expected.push_back(from);
    std::vector<int> waits_for = r.local;
    waits_for.insert(waits_for.end(), r.children.begin(), r.children.end());
    std::sort(waits_for.begin(), waits_for.end());
    EXPECT_EQ(waits_for, expected)
        << "member " << r.self << " must wait exactly for the members that send to it";
    for (int child : r.children)
      EXPECT_TRUE(std::ranges::equal(r.node_leaders_from(child), subtree_of(roles, child)))
          << r.self << " of " << child;
    int at = r.self, steps = 0;
    while (upward.contains(at) && steps++ < 60) at = upward[at];
    EXPECT_EQ(at, 0);
  }
}

TEST(CreationRoles, EveryGroupFormsATreeRootedAtItsFirstMember) {
  std::mt19937 random(7);
  for (std::uint32_t nodes : {1u, 2u, 3u, 5u, 8u, 16u})
    for (bool in_turn : {false, true})
      for (int round = 0; round < 20; ++round) {
        const std::uint32_t size = nodes * 3;
        std::vector<std::uint32_t> ranks(size);
        for (std::uint32_t r = 0; r < size; ++r) ranks[r] = r;
        std::shuffle(ranks.begin(), ranks.end(), random);
        ranks.resize(1 + random() % size);
        const auto group = Group::of_ranks(ranks);
        const auto map = map_of(nodes, size, in_turn);
        for (TreeShape shape : {TreeShape::binomial, TreeShape::chain})
          for (bool each_alone : {false, true})
            expect_tree(all_roles(*group, map, each_alone, shape));
      }
}

TEST(CreationRoles, NumberOfPeersIsLogarithmic) {
  const auto group = Group::of_ranges({{0, 0, 1024, 1}});
  const auto map = map_of(256, 1024, false);
  for (const auto& r : all_roles(*group, map, false)) {
    EXPECT_LE(r.children.size(), 8u);
    EXPECT_LE(r.height, 8);
    EXPECT_LE(r.local.size(), 3u);
    EXPECT_TRUE(r.spans_nodes);
  }
}

TEST(CreationRoles, ChainMembersHaveAtMostOneChild) {
  const auto group = Group::of_ranges({{0, 0, 16, 1}});
  const auto map = map_of(8, 16, false);
  for (const auto& r : all_roles(*group, map, false, TreeShape::chain)) {
    EXPECT_LE(r.children.size(), 1u);
    EXPECT_EQ(r.tree_height, 7);
    EXPECT_TRUE(!r.is_node_leader() || r.height == 7 - r.self / 2) << r.self;
  }
}

TEST(CreationRoles, OneNodeHasOneRoot) {
  const auto group = Group::of_ranges({{0, 1, 5, 1}});
  const auto map = map_of(2, 12, false);
  const auto roles = all_roles(*group, map, false);
  EXPECT_FALSE(roles[0].spans_nodes);
  EXPECT_EQ(roles[0].local, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(roles[3].node_leader, 0);
  EXPECT_FALSE(roles[3].is_node_leader());
}

TEST(CreationRoles, EachAloneMakesEveryMemberARoot) {
  const auto group = Group::of_ranges({{0, 0, 4, 1}});
  for (const auto& r : all_roles(*group, map_of(1, 4, false), true)) {
    EXPECT_TRUE(r.is_node_leader());
    EXPECT_TRUE(r.spans_nodes);
    EXPECT_TRUE(r.local.empty());
  }
}

}  // namespace
}  // namespace shim::sessions
