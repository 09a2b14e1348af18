// SPDX-License-Identifier: BSD-3-Clause
// Allgather with everybody's block sent to everybody, in windows of the same steps at all. For short data among few processes: one wait
// in place of one for each round, and where processes outnumber cores, waits are what it costs.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_linear(Call call, std::byte* all, Places places) {
  const Bytes own = part_of(all, places[call.rank]);
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size;
    co_await call.post_receive(part_of(all, places[from]), from);
    co_await call.post_send(ConstBytes(own), (call.rank + step) % call.size);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  co_await call.done();
}

Task allgather_linear(Call call, std::byte* all, std::uint64_t block) { return allgatherv_linear(call, all, Places::equal(block)); }

}  // namespace shim::coll
