// SPDX-License-Identifier: BSD-3-Clause
// Allgather on several nodes with consecutive ranks each.
// Gather each node's blocks at its node leader, allgather among node leaders, broadcast within each
// node.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task allgather_by_nodes(Call call, std::byte* all, std::uint64_t block) {
  const NodeCalls calls(call);
  const BlockSpan part = calls.part(calls.nodes.own(), block);
  const ConstBytes own(all + static_cast<std::uint64_t>(call.rank) * block, block);
  std::byte* of_node = calls.is_node_leader() ? all + part.offset : nullptr;
  Task within = select_task(&AlgorithmTable::gather, calls.within, block)(
      calls.within, own, of_node, calls.node_leader);
  co_await within;
  const std::uint64_t bytes = static_cast<std::uint64_t>(call.size) * block;
  if (calls.is_node_leader()) {
    const BlockSpans parts = calls.parts(block);
    Task across = select_task(&AlgorithmTable::allgatherv, calls.between, bytes)(calls.between, all,
                                                                                 parts);
    co_await across;
  }
  Task back = select_task(&AlgorithmTable::bcast, calls.within, bytes)(
      calls.within, Bytes(all, bytes), calls.node_leader);
  co_await back;
}

}  // namespace shim::coll
