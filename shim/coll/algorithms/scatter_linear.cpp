// SPDX-License-Identifier: BSD-3-Clause
// Scatter with a message from the root to each process.
// For long blocks, and if only the root knows their lengths.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task scatterv_linear(Call call, const std::byte* all, BlockLayout block_layout, Bytes own,
                     int root) {
  if (call.rank != root) {
    co_await call.receive(own, root);
    co_return;
  }
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    int dest = (root + step) % call.size;
    co_await call.post_send(part_of(all, block_layout[dest]), dest);
    if (++in_flight % kWindow == 0) co_await call.done();
  }
  copy_bytes(all + block_layout[root].offset, own.data(), own.size());
  co_await call.done();
}

Task scatter_linear(Call call, const std::byte* all, Bytes own, int root) {
  return scatterv_linear(call, all, BlockLayout::equal(own.size()), own, root);
}

}  // namespace shim::coll
