// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data: by halving, after which the parts are shared. On a power of two everyone sends about twice the data;
// on other sizes the folded pairs send it once more. Keeps the order of ranks; each part is computed by one process only.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"
#include "shim/coll/algorithms/halving.hpp"

namespace shim::coll {

Task allreduce_rabenseifner(Call call, Operands operands, const void* own, void* result) {
  copy_items(operands, own, result);
  Fold fold(call.size);
  ItemRoom room(call, operands);
  Accumulator accumulator{result, room.data()};
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
