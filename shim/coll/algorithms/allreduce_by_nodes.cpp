// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of several nodes: each node's values at its speaker, an allreduce among the speakers, and back (the sparse world of the MPICH
// paper of 2025, §4.3). Operations that do not commute need the nodes in order.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task allreduce_by_nodes(Call call, Operands operands, const void* own, void* result) {
  const NodeCalls calls(call);
  const bool commutes = operands.op->commutative;
  void* of_node = calls.is_speaker() ? result : nullptr;
  Task within = choose(table().reduce, calls.within, operands.bytes(), commutes)(calls.within, operands, own, of_node, calls.speaker);
  co_await within;
  if (calls.is_speaker()) {
    Task across = choose(table().allreduce, calls.between, operands.bytes(), commutes)(calls.between, operands, result, result);
    co_await across;
  }
  Task back = bcast_of_items(calls.within, operands.all(result), calls.speaker);
  co_await back;
}

}  // namespace shim::coll
