// SPDX-License-Identifier: BSD-3-Clause
// Gather with a message from everyone to the root: for long blocks, and where only the root knows how long they are.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task gatherv_linear(Call call, ConstBytes own, std::byte* all, std::span<const Part> parts, int root) {
  if (call.rank != root) {
    co_await call.send(own, root);
    co_return;
  }
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    int source = (root + step) % call.size;
    co_await call.post_receive(part_of(all, parts[static_cast<std::size_t>(source)]), source);
    if (++in_flight % kWindow == 0) co_await call.done();
  }
  copy_bytes(own.data(), all + parts[static_cast<std::size_t>(root)].offset, own.size());
  co_await call.done();
}

Task gather_linear(Call call, ConstBytes own, std::byte* all, int root) {
  Parts parts = equal_parts(call.rank == root ? call.size : 0, own.size());
  Task gather = gatherv_linear(call, own, all, parts, root);
  co_await gather;
}

}  // namespace shim::coll
