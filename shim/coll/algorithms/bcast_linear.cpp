// SPDX-License-Identifier: BSD-3-Clause
// Broadcast with a message from the root to each process.
// On one node all receivers read long data from the root's memory at once, and wait for the root
// alone.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task bcast_linear(Call call, Bytes data, int root) {
  if (call.rank != root) {
    co_await call.receive(data, root);
    co_return;
  }
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    co_await call.post_send(ConstBytes(data), (root + step) % call.size);
    if (++in_flight % kWindow == 0) co_await call.done();
  }
  co_await call.done();
}

}  // namespace shim::coll
