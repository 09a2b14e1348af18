// SPDX-License-Identifier: BSD-3-Clause
// Allgather by Bruck's algorithm, for short data.
// In round k each process receives, from the process 2^k ahead, the blocks that this process has.
// So after each round a process has the blocks of consecutive ranks, starting with its own rank.
// ceil(log2 size) rounds at any size; costs one copy of the data.
#include <algorithm>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_bruck(Call call, std::byte* all, BlockLayout block_layout) {
  auto ahead = [&](int distance) { return block_layout[(call.rank + distance) % call.size]; };
  // offsets of the blocks, starting with this process's, and their end
  boost::container::small_vector<std::uint64_t, 17> begins = {0};
  for (int i = 0; i < call.size; ++i) begins.push_back(begins.back() + ahead(i).bytes);
  auto begin = [&](int block) { return begins[static_cast<std::size_t>(block)]; };
  Scratch from_own_on(call, begins.back());
  copy_bytes(part_of(all, ahead(0)).data(), from_own_on.data(), ahead(0).bytes);
  for (int distance = 1; distance < call.size; distance *= 2) {
    const int count = std::min(distance, call.size - distance);
    const int to = (call.rank - distance + call.size) % call.size,
              from = (call.rank + distance) % call.size;
    co_await call.exchange(
        ConstBytes(from_own_on.part(0, begin(count))), to,
        from_own_on.part(begin(distance), begin(distance + count) - begin(distance)), from);
  }
  for (int i = 1; i < call.size; ++i)
    copy_bytes(from_own_on.data() + begin(i), part_of(all, ahead(i)).data(), ahead(i).bytes);
}

Task allgather_bruck(Call call, std::byte* all, std::uint64_t block) {
  return allgatherv_bruck(call, all, BlockLayout::equal(block));
}

}  // namespace shim::coll
