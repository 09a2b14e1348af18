// SPDX-License-Identifier: BSD-3-Clause
// Gather with a message from each process to the root.
// For long blocks, and if only the root knows their lengths.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task gatherv_linear(Call call, ConstBytes own, std::byte* all, BlockLayout block_layout, int root) {
  if (call.rank != root) {
    co_await call.send(own, root);
    co_return;
  }
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    int source = (root + step) % call.size;
    co_await call.post_receive(part_of(all, block_layout[source]), source);
    if (++in_flight % kWindow == 0) co_await call.done();
  }
  copy_bytes(own.data(), all + block_layout[root].offset, own.size());
  co_await call.done();
}

Task gather_linear(Call call, ConstBytes own, std::byte* all, int root) {
  return gatherv_linear(call, own, all, BlockLayout::equal(own.size()), root);
}

}  // namespace shim::coll
