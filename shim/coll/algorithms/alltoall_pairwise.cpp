// SPDX-License-Identifier: BSD-3-Clause
// All-to-all in size - 1 rounds with one destination and one source each, for long blocks.
// No process receives from many at once. On powers of two destination and source are one process.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task alltoall_pairwise(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  auto at = [block](int rank) { return static_cast<std::uint64_t>(rank) * block; };
  copy_bytes(send + at(call.rank), receive + at(call.rank), block);
  bool is_power_of_two = (call.size & (call.size - 1)) == 0;
  for (int step = 1; step < call.size; ++step) {
    int to = is_power_of_two ? call.rank ^ step : (call.rank + step) % call.size;
    int from = is_power_of_two ? to : (call.rank - step + call.size) % call.size;
    co_await call.exchange(ConstBytes(send + at(to), block), to, Bytes(receive + at(from), block),
                           from);
  }
}

}  // namespace shim::coll
