// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive doubling, for short data.
// In round k, partners at distance 2^k exchange the values of their runs of neighboring ranks. Both
// combine the lower run's value with the higher run's in this order, and so get identical bits.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"

namespace shim::coll {

Task allreduce_recursive_doubling(Call call, Operands operands, const void* own, void* result) {
  Fold fold(call.size);
  if (fold.pairs > 0 || call.size == 1) copy_items(operands, own, result);
  ItemScratch scratch(call, *operands.type, call.size > 1 ? operands.count : 0);
  Accumulator accumulator{result, scratch.data()};
  if (fold.pairs > 0) {
    Task folding = fold_values(call, operands, fold, &accumulator);
    co_await folding;
  }
  if (fold.is_active(call.rank)) {
    int number = fold.number_of(call.rank);
    for (int distance = 1; distance < fold.power; distance *= 2) {
      int partner = number ^ distance;
      int rank = fold.rank_of(partner);
      // send first from the user's buffer, not from the new copy in `result`, because the partner
      // would have to fetch that copy from this core's cache
      const bool is_first = distance == 1 && fold.pairs == 0;
      co_await call.post_receive(operands.all(accumulator.spare), rank);
      co_await call.post_send(operands.all(is_first ? own : accumulator.value), rank);
      if (is_first) copy_items(operands, own, result);
      co_await call.done();
      co_await Call::accumulate(operands, &accumulator, partner < number);
    }
    copy_items(operands, accumulator.value, result);
  }
  if (fold.pairs > 0) {
    Task unfolding = unfold_values(call, operands, fold, result);
    co_await unfolding;
  }
}

}  // namespace shim::coll
