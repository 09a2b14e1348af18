// SPDX-License-Identifier: BSD-3-Clause
// Reduce on several nodes: within each node, then among node leaders.
// Operations that do not commute need consecutive ranks on each node.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task reduce_by_nodes(Call call, Operands operands, const void* own, void* result, int root) {
  const NodeCalls calls(call, root);
  const bool commutes = operands.op->commutative;
  const ItemScratch scratch(call, *operands.type,
                            calls.is_node_leader() && result == nullptr ? operands.count : 0);
  void* of_node = nullptr;
  if (calls.is_node_leader()) of_node = result != nullptr ? result : scratch.data();
  Task within = select_task(&AlgorithmTable::reduce, calls.within, operands.bytes(), commutes)(
      calls.within, operands, own, of_node, calls.node_leader);
  co_await within;
  if (!calls.is_node_leader()) co_return;
  Task across = select_task(&AlgorithmTable::reduce, calls.between, operands.bytes(), commutes)(
      calls.between, operands, of_node, result, calls.root_node);
  co_await across;
}

}  // namespace shim::coll
