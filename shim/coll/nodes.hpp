// SPDX-License-Identifier: BSD-3-Clause
// Which members of a communicator are on which node, for collectives that go over the lines between nodes as seldom as they can: what a
// node's members have to say is said by one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace shim::coll {

/// What the members of a communicator have in common beside messages. The same on all of them.
enum class Sharing : std::uint8_t {
  nothing,
  boards,  ///< all are of one node
  memory,  ///< likewise, and they may read each other's memory, as far as settings say
};

/// The same on all members, but for what is said to be the own node's. Nodes have numbers in the order of their lowest ranks. Takes
/// memory for each node, for each run of neighbouring ranks on one, and for each member of the own one.
class Nodes {
 public:
  /// @param node_of any number that tells the nodes of members apart  @param sharing of the members of one node
  /// @return null where nothing is gained by knowing: all are on one node, or each on one of its own
  static std::unique_ptr<const Nodes> of(int size, int own_rank, const std::function<std::uint32_t(int)>& node_of, Sharing sharing);

  int count() const { return static_cast<int>(roots_.size()); }
  int own() const { return own_; }
  int node_of(int rank) const;
  /// The lowest rank of each.
  std::span<const int> roots() const { return roots_; }
  /// The ranks of the own node, ascending.
  std::span<const int> members() const { return members_; }
  /// The ranks of each node follow each other: node n has those from its root up to the next one's.
  bool are_in_order() const { return runs_.size() == roots_.size(); }
  /// Where they are in order: how many ranks come before those of this node; node count() stands for the end.
  int first(int node) const { return node == count() ? size_ : roots_[static_cast<std::size_t>(node)]; }
  /// Of the members of one node.
  Sharing sharing() const { return sharing_; }

 private:
  struct Run {
    int first;
    int node;
  };
  Nodes() = default;

  int size_ = 0, own_ = 0;
  Sharing sharing_ = Sharing::boards;
  std::vector<int> roots_, members_;
  std::vector<Run> runs_;
};

}  // namespace shim::coll
