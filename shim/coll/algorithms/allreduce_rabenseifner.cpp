// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data by Rabenseifner's algorithm: reduce-scatter by halving, then allgather.
// On a power of two each process sends about twice the data; on other sizes the members of a folded
// pair also send all of it to each other once. Combines in the order of ranks. Only one process
// computes the final value of each part, so that all processes get identical bits.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"
#include "shim/coll/algorithms/halving.hpp"

namespace shim::coll {

Task allreduce_rabenseifner(Call call, Operands operands, const void* own, void* result) {
  copy_items(operands, own, result);
  Fold fold(call.size);
  ItemScratch scratch(call, operands);
  Accumulator accumulator{result, scratch.data()};
  Task folding = fold_values(call, operands, fold, &accumulator);
  co_await folding;
  if (fold.is_active(call.rank)) {
    Task halving = reduce_by_halving(call, operands, fold, accumulator.value, accumulator.spare);
    co_await halving;
    Task sharing = share_parts(call, operands, fold, accumulator.value);
    co_await sharing;
    copy_items(operands, accumulator.value, result);
  }
  Task unfolding = unfold_values(call, operands, fold, result);
  co_await unfolding;
}

}  // namespace shim::coll
