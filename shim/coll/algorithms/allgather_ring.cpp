// SPDX-License-Identifier: BSD-3-Clause
// Allgather around a ring, for long data.
// Each process forwards the block from its left neighbor, so that it sends and receives each byte
// once, and only to and from neighbors.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_ring(Call call, std::byte* all, BlockLayout block_layout) {
  int right = (call.rank + 1) % call.size;
  int left = (call.rank - 1 + call.size) % call.size;
  int have = call.rank;
  for (int step = 1; step < call.size; ++step) {
    int next = (have - 1 + call.size) % call.size;
    Bytes out = part_of(all, block_layout[have]);
    Bytes in = part_of(all, block_layout[next]);
    co_await call.exchange(ConstBytes(out), right, in, left);
    have = next;
  }
}

Task allgather_ring(Call call, std::byte* all, std::uint64_t block) {
  return allgatherv_ring(call, all, BlockLayout::equal(block));
}

}  // namespace shim::coll
