// SPDX-License-Identifier: BSD-3-Clause
// Scatter to several nodes with consecutive ranks each.
// The root sends each node leader its node's blocks as one message; the leader scatters them within
// the node.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task scatter_by_nodes(Call call, const std::byte* all, Bytes own, int root) {
  const NodeCalls calls(call, root);
  const std::uint64_t block = own.size();
  const bool is_root = call.rank == root;
  const BlockSpan part = calls.part(calls.nodes.own(), block);
  const Scratch scratch(call, calls.is_node_leader() && !is_root ? part.bytes : 0);
  const std::byte* of_node = is_root ? all + part.offset : scratch.data();
  if (calls.is_node_leader()) {
    const BlockSpans parts = calls.parts(block);
    const Bytes into(const_cast<std::byte*>(of_node),
                     part.bytes);  // the root's part is in its position: never written to
    Task across = scatterv_linear(calls.between, all, parts, into, calls.root_node);
    co_await across;
  }
  Task within = select_task(&AlgorithmTable::scatter, calls.within, block)(
      calls.within, calls.is_node_leader() ? of_node : nullptr, own, calls.node_leader);
  co_await within;
}

}  // namespace shim::coll
