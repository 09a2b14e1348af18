// SPDX-License-Identifier: BSD-3-Clause
// Reduce of several nodes: the values of each node's members first, those of the nodes then. Operations that do not commute need the
// nodes in order.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task reduce_by_nodes(Call call, Operands operands, const void* own, void* result, int root) {
  const NodeCalls calls(call, root);
  const bool commutes = operands.op->commutative;
  const ItemRoom room(call, *operands.type, calls.is_speaker() && result == nullptr ? operands.count : 0);
  void* of_node = nullptr;
  if (calls.is_speaker()) of_node = result != nullptr ? result : room.data();
  Task within = choose(table().reduce, calls.within, operands.bytes(), commutes)(calls.within, operands, own, of_node, calls.speaker);
  co_await within;
  if (!calls.is_speaker()) co_return;
  Task across = choose(table().reduce, calls.between, operands.bytes(), commutes)(calls.between, operands, of_node, result, calls.root_node);
  co_await across;
}

}  // namespace shim::coll
