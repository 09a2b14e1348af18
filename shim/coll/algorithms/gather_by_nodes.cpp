// SPDX-License-Identifier: BSD-3-Clause
// Gather from several nodes with consecutive ranks each.
// Gather each node's blocks at its node leader, which sends them to the root as one message.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task gather_by_nodes(Call call, ConstBytes own, std::byte* all, int root) {
  const NodeCalls calls(call, root);
  const std::uint64_t block = own.size();
  const bool is_root = call.rank == root;
  const BlockSpan part = calls.part(calls.nodes.own(), block);
  const Scratch scratch(call, calls.is_node_leader() && !is_root ? part.bytes : 0);
  std::byte* of_node = nullptr;
  if (calls.is_node_leader()) of_node = is_root ? all + part.offset : scratch.data();
  Task within = select_task(&AlgorithmTable::gather, calls.within, block)(
      calls.within, own, of_node, calls.node_leader);
  co_await within;
  if (!calls.is_node_leader()) co_return;
  const BlockSpans parts = calls.parts(block);
  Task across = gatherv_linear(calls.between, ConstBytes(of_node, part.bytes), all, parts,
                               calls.root_node);
  co_await across;
}

}  // namespace shim::coll
