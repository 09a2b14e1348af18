// SPDX-License-Identifier: BSD-3-Clause
// Scatter with a message from the root to everyone: for long blocks, and where only the root knows how long they are.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task scatterv_linear(Call call, const std::byte* all, Places places, Bytes own, int root) {
  if (call.rank != root) {
    co_await call.receive(own, root);
    co_return;
  }
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    int dest = (root + step) % call.size;
    co_await call.post_send(part_of(all, places[dest]), dest);
    if (++in_flight % kWindow == 0) co_await call.done();
  }
  copy_bytes(all + places[root].offset, own.data(), own.size());
  co_await call.done();
}

Task scatter_linear(Call call, const std::byte* all, Bytes own, int root) {
  return scatterv_linear(call, all, Places::equal(own.size()), own, root);
}

}  // namespace shim::coll
