// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan by recursive doubling, in the order of ranks.
// Partners at distance 2^k exchange the values of their runs of 2^k ranks; the higher partner also
// combines the lower partner's value into its result. ceil(log2 size) rounds at any size.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

Task prefix(Call call, Operands operands, Accumulator run, void* result, bool result_is_set) {
  for (int distance = 1; distance < call.size; distance *= 2) {
    int partner = call.rank ^ distance;
    if (partner >= call.size) continue;
    co_await call.exchange(operands.all(static_cast<const void*>(run.value)), partner,
                           operands.all(run.spare), partner);
    if (partner < call.rank) {
      if (result_is_set)
        co_await Call::combine(operands, run.spare, result, operands.count);
      else
        types::copy(*operands.type, run.spare, result, operands.count);
      result_is_set = true;
    }
    co_await Call::accumulate(operands, &run, partner < call.rank);
  }
}

}  // namespace

Task scan_recursive_doubling(Call call, Operands operands, const void* own, void* result) {
  ItemScratch scratch(call, operands), more_space(call, operands);
  types::copy(*operands.type, own, scratch.data(), operands.count);
  copy_items(operands, own, result);
  Task rounds = prefix(call, operands, {scratch.data(), more_space.data()}, result, true);
  co_await rounds;
}

Task exscan_recursive_doubling(Call call, Operands operands, const void* own, void* result) {
  ItemScratch scratch(call, operands), more_space(call, operands);
  types::copy(*operands.type, own, scratch.data(), operands.count);
  Task rounds = prefix(call, operands, {scratch.data(), more_space.data()}, result, false);
  co_await rounds;
}

}  // namespace shim::coll
