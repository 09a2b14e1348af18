// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms that know the nodes have in common: the same collective among fewer. Each node has a speaker, its lowest rank, or
// the root of the collective on the root's node; within a node its members talk to their speaker, between nodes speakers to each other.
// Both go by what the table says for so many processes.
#pragma once

#include <algorithm>
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/nodes.hpp"

namespace shim::coll {

/// Lives as long as the calls are used. Not copied: they point into it.
class NodeCalls {
 public:
  /// @param root a rank that speaks for its node
  explicit NodeCalls(const Call& call, int root = 0)
      : nodes(*call.nodes), root_node(nodes.node_of(root)), speakers_(nodes.roots().begin(), nodes.roots().end()) {
    speakers_[static_cast<std::size_t>(root_node)] = root;
    const int own_speaker = speakers_[static_cast<std::size_t>(nodes.own())];
    within = call.among(nodes.members(), place_of(call.rank), nodes.sharing());
    between = call.among(speakers_, nodes.own(), Sharing::nothing);
    speaker = place_of(own_speaker);
  }
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  const Nodes& nodes;
  const int root_node;  ///< the root's rank between nodes
  Call within, between; ///< the second is for speakers alone
  int speaker;          ///< of the own node, as a rank within it

  bool is_speaker() const { return within.rank == speaker; }

  // Of nodes in order.
  /// Blocks of a node's members as one.
  Part part(int node, std::uint64_t block) const {
    const auto bytes = [block](int ranks) { return static_cast<std::uint64_t>(ranks) * block; };
    return {static_cast<std::int64_t>(bytes(nodes.first(node))), bytes(nodes.first(node + 1) - nodes.first(node))};
  }
  Parts parts(std::uint64_t block) const {
    Parts all;
    for (int node = 0; node < nodes.count(); ++node) all.push_back(part(node, block));
    return all;
  }

 private:
  int place_of(int rank) const {
    const auto members = nodes.members();
    return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
  }
  std::vector<int> speakers_;
};

}  // namespace shim::coll
