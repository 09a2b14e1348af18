// SPDX-License-Identifier: BSD-3-Clause
// Reduce of long data by Rabenseifner's algorithm: reduce-scatter by halving, then gather.
// Combines in the order of ranks.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"
#include "shim/coll/algorithms/halving.hpp"

namespace shim::coll {

Task reduce_rabenseifner(Call call, Operands operands, const void* own, void* result, int root) {
  Fold fold(call.size, root);
  bool is_active = fold.is_active(call.rank);
  if (!is_active) {
    co_await call.send(operands.all(own), Fold::other_of_pair(call.rank));
    co_return;
  }
  ItemScratch scratch(call, operands);
  ItemScratch more_space(call, *operands.type, result != nullptr ? 0 : operands.count);
  Accumulator accumulator{result != nullptr ? result : more_space.data(), scratch.data()};
  copy_items(operands, own, accumulator.value);
  Task folding = fold_values(call, operands, fold, &accumulator);
  co_await folding;
  Task halving = reduce_by_halving(call, operands, fold, accumulator.value, accumulator.spare);
  co_await halving;
  Task collecting = collect_parts(call, operands, fold, accumulator.value, fold.number_of(root));
  co_await collecting;
  if (call.rank == root) copy_items(operands, accumulator.value, result);
}

}  // namespace shim::coll
