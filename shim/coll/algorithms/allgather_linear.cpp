// SPDX-License-Identifier: BSD-3-Clause
// Allgather with a message from each process to each, for short data among few processes.
// All processes use equal windows. One wait replaces one wait per round; waits dominate the cost if
// processes outnumber cores.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_linear(Call call, std::byte* all, BlockLayout block_layout) {
  const Bytes own = part_of(all, block_layout[call.rank]);
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size;
    co_await call.post_receive(part_of(all, block_layout[from]), from);
    co_await call.post_send(ConstBytes(own), (call.rank + step) % call.size);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  co_await call.done();
}

Task allgather_linear(Call call, std::byte* all, std::uint64_t block) {
  return allgatherv_linear(call, all, BlockLayout::equal(block));
}

}  // namespace shim::coll
