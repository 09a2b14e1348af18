// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving, for short data and commutative operations.
// In each round partners exchange the half of the data that the processes on the other's side need,
// most distant partners first. So operands do not combine in the order of ranks, and the operation
// must commute.
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"

namespace shim::coll {
namespace {

// Compute the final values of this number's blocks in accumulator.value.
Task halve(Call call, Operands operands, Fold fold, Accumulator accumulator,
           const std::uint64_t* starts) {
  auto start_of = [&](int number) {
    return starts[number == fold.power ? call.size : fold.first_rank_of(number)];
  };
  int number = fold.number_of(call.rank);
  int first = 0, end = fold.power;
  for (int distance = fold.power / 2; distance > 0; distance /= 2) {
    int middle = first + distance;
    bool is_low = number < middle;
    std::uint64_t keep = start_of(is_low ? first : middle),
                  keep_end = start_of(is_low ? middle : end);
    std::uint64_t give = start_of(is_low ? middle : first),
                  give_end = start_of(is_low ? end : middle);
    int partner = fold.rank_of(number ^ distance);
    co_await call.exchange(
        operands.part(static_cast<const void*>(accumulator.value), give, give_end - give), partner,
        operands.part(accumulator.spare, keep, keep_end - keep), partner);
    co_await Call::combine(operands, operands.at(accumulator.spare, keep),
                           operands.at(accumulator.value, keep), keep_end - keep);
    if (is_low)
      end = middle;
    else
      first = middle;
  }
}

}  // namespace

Task reduce_scatter_halving(Call call, Operands operands, const void* own, void* result,
                            Integers counts) {
  std::vector<std::uint64_t> starts = starts_of(counts);
  auto rank = static_cast<std::size_t>(call.rank);
  Fold fold(call.size);
  ItemScratch scratch(call, operands), more_space(call, operands);
  Accumulator accumulator{scratch.data(), more_space.data()};
  types::copy(*operands.type, own, accumulator.value, operands.count);
  Task folding = fold_values(call, operands, fold, &accumulator);
  co_await folding;
  int partner = Fold::other_of_pair(call.rank);
  if (!fold.is_active(call.rank)) {
    co_await call.receive(operands.part(result, 0, starts[rank + 1] - starts[rank]), partner);
    co_return;
  }
  Task halving = halve(call, operands, fold, accumulator, starts.data());
  co_await halving;
  if (fold.is_in_pair(call.rank)) {
    auto other = static_cast<std::size_t>(partner);
    co_await call.post_send(operands.part(static_cast<const void*>(accumulator.value),
                                          starts[other], starts[other + 1] - starts[other]),
                            partner);
  }
  types::copy(*operands.type, operands.at(accumulator.value, starts[rank]), result,
              starts[rank + 1] - starts[rank]);
  co_await call.done();
}

}  // namespace shim::coll
