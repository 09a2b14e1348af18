// SPDX-License-Identifier: BSD-3-Clause
// NodeCalls makes the two calls of a node-aware collective: within nodes and between node leaders.
// A node's leader is its lowest rank, or the collective's root on the root's node. For both calls
// algorithms are selected from the table by the call's own number of processes.
#pragma once

#include <algorithm>
#include <vector>

#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/nodes.hpp"

namespace shim::coll {

/// The two calls of one collective. The object must outlive them; it is not copyable, because they
/// point into it.
class NodeCalls {
 public:
  /// @param root the rank that leads its node
  explicit NodeCalls(const Call& call, int root = 0)
      : nodes(*call.nodes),
        root_node(nodes.node_of(root)),
        node_leaders_(nodes.leaders().begin(), nodes.leaders().end()) {
    node_leaders_[static_cast<std::size_t>(root_node)] = root;
    const int own_leader = node_leaders_[static_cast<std::size_t>(nodes.own())];
    within = call.among(nodes.members(), index_of(call.rank), nodes.sharing());
    between = call.among(node_leaders_, nodes.own(), MemorySharing::nothing);
    node_leader = index_of(own_leader);
  }
  NodeCalls(const NodeCalls&) = delete;
  NodeCalls& operator=(const NodeCalls&) = delete;

  const Nodes& nodes;
  const int root_node;   ///< the root's rank in `between`
  Call within, between;  ///< `between` is for node leaders alone
  int node_leader;       ///< of the local node, as a rank in `within`

  bool is_node_leader() const { return within.rank == node_leader; }

  // The next two require Nodes::are_in_order().
  /// Return the position of the blocks of a node's members, which are consecutive.
  BlockSpan part(int node, std::uint64_t block) const {
    const auto bytes = [block](int ranks) { return static_cast<std::uint64_t>(ranks) * block; };
    return {static_cast<std::int64_t>(bytes(nodes.first(node))),
            bytes(nodes.first(node + 1) - nodes.first(node))};
  }
  /// Return this position for each node.
  BlockSpans parts(std::uint64_t block) const {
    BlockSpans all;
    for (int node = 0; node < nodes.count(); ++node) all.push_back(part(node, block));
    return all;
  }

 private:
  int index_of(int rank) const {
    const auto members = nodes.members();
    return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) -
                            members.begin());
  }
  std::vector<int> node_leaders_;
};

}  // namespace shim::coll
