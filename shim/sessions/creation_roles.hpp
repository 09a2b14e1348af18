// SPDX-License-Identifier: BSD-3-Clause
// CreationRoles is a member's part in a creation: its node leader, and its place in the tree of
// node leaders.
//
// A node leader is the member with the lowest group rank on its node. The root of the tree is rank
// 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/exchange_strategy.hpp"
#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// Roles of one member. All ranks are group ranks. Each member computes them locally; results agree
/// because node map and group are equal on all members.
struct CreationRoles {
  int self = 0;
  int node_leader = 0;     ///< node leader of this node
  std::vector<int> local;  ///< if self is a node leader: the other members on this node; else empty
  /// Parent node leader; none if self is the root (rank 0) or no node leader.
  std::optional<int> parent;
  std::vector<int> children;  ///< child node leaders
  /// If self is a node leader: all node leaders in ascending order, the root first.
  std::vector<int> node_leaders;
  /// The subtree of self is contiguous in `node_leaders`: from self to before this index.
  std::size_t subtree_end = 0;
  bool spans_nodes = false;
  int height = 0;       ///< levels below self; 0 if self waits only for its node
  int tree_height = 0;  ///< levels of the whole tree

  bool is_node_leader() const { return self == node_leader; }  ///< true on node leaders
  bool is_tree_root() const { return self == 0; }  ///< true on the root of the tree, rank 0
  /// Return the node leaders of a child's subtree.
  std::span<const int> node_leaders_from(int child) const;
};

/// Inputs of the role computation besides the group; equal on all processes of a job.
struct CreationContext {
  const bootstrap::NodeMap& nodes;
  bool each_alone = false;  ///< every process counts as its own node (transport=fabric)
  TreeShape shape = TreeShape::binomial;

  std::uint32_t node_of(base::ProcessId process) const {
    return each_alone ? process.rank : nodes.node_of(process.rank);
  }
};

/// Compute the roles of `self`, which must be a member.
CreationRoles roles_in(const Group& group, base::ProcessId self, const CreationContext& context);

}  // namespace shim::sessions
