// SPDX-License-Identifier: BSD-3-Clause
// Nodes maps the members of a communicator to nodes.
// Node-aware collectives send few messages between nodes: a node's leader sends for all members on
// its node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace shim::coll {

/// Kind of memory that the members of a communicator share. Equal on all members.
enum class MemorySharing : std::uint8_t {
  nothing,
  segment,  ///< all members are on one node
  memory,   ///< and they may also read each other's memory, if settings allow it
};

/// Map from ranks to nodes. Equal on all members, except for data about the local node. Nodes are
/// numbered in the order of their lowest ranks. The object's memory grows with the number of nodes,
/// of runs of neighboring ranks on one node, and of local members.
class Nodes {
 public:
  /// @param node_of returns a number that differs between nodes
  /// @param sharing memory that the members of one node share
  /// @return null if node-aware algorithms have no benefit: one node, or one member per node
  static std::unique_ptr<const Nodes> of(int size, int own_rank,
                                         const std::function<std::uint32_t(int)>& node_of,
                                         MemorySharing sharing);

  int count() const { return static_cast<int>(leaders_.size()); }
  /// Return the number of the local node.
  int own() const { return own_; }
  int node_of(int rank) const;
  /// Return the lowest rank of each node.
  std::span<const int> leaders() const { return leaders_; }
  /// Return the ranks on the local node, ascending.
  std::span<const int> members() const { return members_; }
  /// True if the ranks of each node are consecutive: node n has those from its leader to the next
  /// leader.
  bool are_in_order() const { return runs_.size() == leaders_.size(); }
  /// Return the lowest rank on a node, or size for node count(). Requires are_in_order().
  int first(int node) const {
    return node == count() ? size_ : leaders_[static_cast<std::size_t>(node)];
  }
  /// Return which memory the members of one node share.
  MemorySharing sharing() const { return sharing_; }

 private:
  struct Run {
    int first;
    int node;
  };
  Nodes() = default;

  int size_ = 0, own_ = 0;
  MemorySharing sharing_ = MemorySharing::segment;
  std::vector<int> leaders_, members_;
  std::vector<Run> runs_;
};

}  // namespace shim::coll
