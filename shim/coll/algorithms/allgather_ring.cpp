// SPDX-License-Identifier: BSD-3-Clause
// Allgather round a ring: every process passes on what came from its left. For long data, since everyone sends and receives
// each byte once, and only to and from its neighbours.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_ring(Call call, std::byte* all, Places places) {
  int right = (call.rank + 1) % call.size;
  int left = (call.rank - 1 + call.size) % call.size;
  int have = call.rank;
  for (int step = 1; step < call.size; ++step) {
    int next = (have - 1 + call.size) % call.size;
    Bytes out = part_of(all, places[have]);
    Bytes in = part_of(all, places[next]);
    co_await call.exchange(ConstBytes(out), right, in, left);
    have = next;
  }
}

Task allgather_ring(Call call, std::byte* all, std::uint64_t block) {
  return allgatherv_ring(call, all, Places::equal(block));
}

}  // namespace shim::coll
