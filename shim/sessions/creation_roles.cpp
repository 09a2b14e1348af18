// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_roles.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace shim::sessions {
namespace {

/// Return a binomial tree over 0…count-1: clearing the lowest set bit gives the parent. Depth and
/// fan-out are at most log2(count) rounded up.
void set_position_in_tree(CreationRoles& roles, unsigned index) {
  const auto count = static_cast<unsigned>(roles.node_leaders.size());
  if (index > 0) roles.parent = roles.node_leaders[index & (index - 1)];
  const int levels = index > 0 ? std::countr_zero(index) : std::bit_width(count - 1);
  roles.subtree_end = std::min(index + (1u << levels), count);
  for (int level = 0; level < levels; ++level) {
    const unsigned child = index | (1u << level);
    if (child < count) {
      roles.children.push_back(roles.node_leaders[child]);
      roles.height = level + 1;
    }
  }
}

void set_position_in_chain(CreationRoles& roles, unsigned index) {
  const auto count = static_cast<unsigned>(roles.node_leaders.size());
  roles.height = static_cast<int>(count - 1 - index);
  roles.subtree_end = count;
  if (index > 0) roles.parent = roles.node_leaders[index - 1];
  if (index + 1 < count) roles.children.push_back(roles.node_leaders[index + 1]);
}

void set_position(CreationRoles& roles, unsigned index, TreeShape shape) {
  if (shape == TreeShape::chain)
    set_position_in_chain(roles, index);
  else
    set_position_in_tree(roles, index);
}

int levels_over(std::size_t node_leaders, TreeShape shape) {
  return static_cast<int>(shape == TreeShape::chain ? node_leaders - 1
                                                    : std::bit_width(node_leaders - 1));
}

}  // namespace

CreationRoles roles_in(const Group& group, base::ProcessId self, const CreationContext& context) {
  auto node_of = [&](int rank) { return context.node_of(group.at(rank)); };
  CreationRoles roles;
  roles.self = group.rank_of(self);
  const std::uint32_t own_node = node_of(roles.self);

  // In the order of first appearance in the group, so that the root's node is first.
  std::unordered_map<std::uint32_t, unsigned> index_of_node;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::uint32_t node = node_of(rank);
    const bool is_first =
        index_of_node.try_emplace(node, static_cast<unsigned>(roles.node_leaders.size())).second;
    if (is_first) roles.node_leaders.push_back(rank);
    if (is_first && node == own_node) roles.node_leader = rank;
    if (!is_first && node == own_node) roles.local.push_back(rank);
  }
  roles.spans_nodes = roles.node_leaders.size() > 1;
  roles.tree_height = levels_over(roles.node_leaders.size(), context.shape);
  if (roles.is_node_leader()) {
    set_position(roles, index_of_node.at(own_node), context.shape);
  } else {
    roles.local.clear();
    roles.node_leaders.clear();
  }
  return roles;
}

std::span<const int> CreationRoles::node_leaders_from(int child) const {
  const auto next = std::ranges::upper_bound(children, child);
  const auto first = std::ranges::lower_bound(node_leaders, child);
  const auto end = next == children.end()
                       ? node_leaders.begin() + static_cast<std::ptrdiff_t>(subtree_end)
                       : std::ranges::lower_bound(node_leaders, *next);
  return {first, end};
}

}  // namespace shim::sessions
