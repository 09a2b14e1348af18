// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_roles.hpp"

#include <bit>
#include <unordered_map>

namespace shim::sessions {
namespace {

/// A binomial tree over 0…count-1: clearing the lowest set bit gives the parent. Depth and fan-out are at most log2(count)
/// rounded up.
void place_in_tree(CreationRoles& roles, unsigned index) {
  const auto count = static_cast<unsigned>(roles.roots.size());
  if (index > 0) roles.parent = roles.roots[index & (index - 1)];
  const int levels = index > 0 ? std::countr_zero(index) : std::bit_width(count - 1);
  for (int level = 0; level < levels; ++level) {
    const unsigned child = index | (1u << level);
    if (child < count) {
      roles.children.push_back(roles.roots[child]);
      roles.height = level + 1;
    }
  }
}

void place_in_chain(CreationRoles& roles, unsigned index) {
  const auto count = static_cast<unsigned>(roles.roots.size());
  roles.height = static_cast<int>(count - 1 - index);
  if (index > 0) roles.parent = roles.roots[index - 1];
  if (index + 1 < count) roles.children.push_back(roles.roots[index + 1]);
}

void place(CreationRoles& roles, unsigned index, TreeShape shape) {
  if (shape == TreeShape::chain) place_in_chain(roles, index);
  else place_in_tree(roles, index);
}

int levels_over(std::size_t roots, TreeShape shape) {
  return static_cast<int>(shape == TreeShape::chain ? roots - 1 : std::bit_width(roots - 1));
}

}  // namespace

CreationRoles roles_in(const Group& group, base::ProcessId self, const CreationGround& ground) {
  auto node_of = [&](int rank) {
    const std::uint32_t world_rank = group.at(rank).rank;
    return ground.each_alone ? world_rank : ground.nodes.node_of(world_rank);
  };
  CreationRoles roles;
  roles.self = group.rank_of(self);
  const std::uint32_t own_node = node_of(roles.self);

  // In the order in which the nodes first appear in the group, so that the leader's node is the first.
  std::unordered_map<std::uint32_t, unsigned> index_of_node;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::uint32_t node = node_of(rank);
    const bool is_first = index_of_node.try_emplace(node, static_cast<unsigned>(roles.roots.size())).second;
    if (is_first) roles.roots.push_back(rank);
    if (is_first && node == own_node) roles.root = rank;
    if (!is_first && node == own_node) roles.local.push_back(rank);
  }
  roles.spans_nodes = roles.roots.size() > 1;
  roles.tree_height = levels_over(roles.roots.size(), ground.shape);
  if (roles.is_root()) {
    place(roles, index_of_node.at(own_node), ground.shape);
  } else {
    roles.local.clear();
    roles.roots.clear();
  }
  return roles;
}

}  // namespace shim::sessions
