// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on several nodes: within each node, among node leaders, and back.
// Like the sparse world of the MPICH paper of 2025, §4.3. Operations that do not commute need
// consecutive ranks on each node.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task allreduce_by_nodes(Call call, Operands operands, const void* own, void* result) {
  const NodeCalls calls(call);
  const bool commutes = operands.op->commutative;
  void* of_node = calls.is_node_leader() ? result : nullptr;
  Task within = select_task(&AlgorithmTable::reduce, calls.within, operands.bytes(), commutes)(
      calls.within, operands, own, of_node, calls.node_leader);
  co_await within;
  if (calls.is_node_leader()) {
    Task across = select_task(&AlgorithmTable::allreduce, calls.between, operands.bytes(),
                              commutes)(calls.between, operands, result, result);
    co_await across;
  }
  Task back = bcast_of_items(calls.within, operands.all(result), calls.node_leader);
  co_await back;
}

}  // namespace shim::coll
