// SPDX-License-Identifier: BSD-3-Clause
// Who does what in a creation: node roots, and the tree or chain over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/exchange.hpp"
#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// One member's part. All ranks are group ranks. Members compute it alone and agree, because the node map and the group are the
/// same for all.
struct CreationRoles {
  int self = 0;
  int root = 0;                   ///< of the own node: its lowest member
  std::vector<int> local;         ///< members on the own node but the root, where self is the root; else empty
  std::optional<int> parent;      ///< the node root above, where self is a root and not the leader (rank 0)
  std::vector<int> children;      ///< node roots below
  std::vector<int> roots;         ///< all node roots, leader first, where self is one: in ascending order
  std::size_t subtree_end = 0;    ///< the place in roots after the last one of the own subtree, which are there one after the other
  bool spans_nodes = false;
  int height = 0;                 ///< levels below self; 0 for those with nobody to wait for but their node
  int tree_height = 0;            ///< levels of the whole tree

  bool is_root() const { return self == root; }
  bool is_leader() const { return self == 0; }
  /// The node roots of a child's subtree.
  std::span<const int> roots_from(int child) const;
};

/// What decides the roles beside the group; the same for all processes of a job.
struct CreationGround {
  const bootstrap::NodeMap& nodes;
  bool each_alone = false;  ///< every process counts as a node of its own (everything over the fabric)
  TreeShape shape = TreeShape::binomial;

  std::uint32_t node_of(base::ProcessId process) const { return each_alone ? process.rank : nodes.node_of(process.rank); }
};

/// self must be a member.
CreationRoles roles_in(const Group& group, base::ProcessId self, const CreationGround& ground);

}  // namespace shim::sessions
