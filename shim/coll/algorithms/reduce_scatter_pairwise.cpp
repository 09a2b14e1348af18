// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter in size - 1 rounds, for long data; combines in the order of ranks.
// In round k each process sends the process k ahead its block and receives values of its own block
// from k behind. Values from lower ranks arrive first, nearest first, then values from higher
// ranks, highest first. So two partial results grow downwards and are combined at the end.
#include <vector>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task reduce_scatter_pairwise(Call call, Operands operands, const void* own, void* result,
                             Integers counts) {
  std::vector<std::uint64_t> starts = starts_of(counts);
  auto part_for = [&](int rank) {
    auto i = static_cast<std::size_t>(rank);
    return operands.part(own, starts[i], starts[i + 1] - starts[i]);
  };
  types::ConstBuffer mine = part_for(call.rank);
  Operands block{operands.type, operands.op, mine.count};
  ItemScratch low(call, block), high(call, block), incoming(call, block);
  types::copy(*block.type, mine.address, low.data(), block.count);
  for (int step = 1; step < call.size; ++step) {
    int to = (call.rank + step) % call.size;
    int from = (call.rank - step + call.size) % call.size;
    bool is_first_above = step == call.rank + 1;
    void* into = is_first_above ? high.data() : incoming.data();
    co_await call.exchange(part_for(to), to, block.all(into), from);
    if (is_first_above) continue;
    void* value = from < call.rank ? low.data() : high.data();
    co_await Call::combine(block, into, value, block.count);
  }
  bool is_highest = call.rank == call.size - 1;
  if (!is_highest) co_await Call::combine(block, low.data(), high.data(), block.count);
  // copy only now: in place, the result overlaps this process's values for other processes
  types::copy(*block.type, is_highest ? low.data() : high.data(), result, block.count);
}

}  // namespace shim::coll
