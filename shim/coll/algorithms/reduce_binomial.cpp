// SPDX-License-Identifier: BSD-3-Clause
// Reduce up a binomial tree, for short data.
// A subtree is a run of consecutive numbers, combined in order. If the operation does not commute,
// the tree's root is rank 0, which sends the result to the collective's root.
#include <utility>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {
namespace {

// Compute the value of this process's subtree into *value, which is own, room or more_space; send
// it to the parent, if any.
Task reduce_up(Call call, Operands operands, const void** value, void* scratch, void* more_space,
               Tree tree) {
  for (int distance = 1; distance < tree.reach(); distance *= 2) {
    int child = tree.number + distance;
    if (child >= tree.size) break;
    co_await call.receive(operands.all(scratch), tree.rank_of(child));
    co_await Call::combine(operands, *value, scratch, operands.count);
    *value = scratch;
    std::swap(scratch, more_space);
  }
  if (!tree.is_root()) co_await call.send(operands.all(*value), tree.rank_of(tree.parent()));
}

}  // namespace

Task reduce_binomial(Call call, Operands operands, const void* own, void* result, int root) {
  Tree tree(call.rank, call.size, operands.op->commutative ? root : 0);
  bool is_leaf = tree.subtree() == 1;
  ItemScratch scratch(call, *operands.type, is_leaf ? 0 : operands.count);
  ItemScratch more_space(call, *operands.type, is_leaf || result != nullptr ? 0 : operands.count);
  const void* value = own;
  Task up = reduce_up(call, operands, &value, scratch.data(),
                      result != nullptr ? result : more_space.data(), tree);
  co_await up;
  if (tree.is_root() && call.rank == root)
    copy_items(operands, value, result);
  else if (tree.is_root())
    co_await call.send(operands.all(value), root);
  else if (call.rank == root)
    co_await call.receive(operands.all(result), tree.rank_of(0));
}

}  // namespace shim::coll
