// SPDX-License-Identifier: BSD-3-Clause
// Allgather after Bruck: in round k a process gets from 2^k ahead all that one has, so that it knows the blocks of consecutive
// ranks from its own on. For short data, ceil(log2 size) rounds at any size; costs one copy of the data.
#include <algorithm>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgatherv_bruck(Call call, std::byte* all, Places places) {
  auto ahead = [&](int distance) { return places[(call.rank + distance) % call.size]; };
  boost::container::small_vector<std::uint64_t, 17> begins = {0};  // of the blocks from our own on, and their end
  for (int i = 0; i < call.size; ++i) begins.push_back(begins.back() + ahead(i).bytes);
  auto begin = [&](int block) { return begins[static_cast<std::size_t>(block)]; };
  Scratch from_own_on(call, begins.back());
  copy_bytes(part_of(all, ahead(0)).data(), from_own_on.data(), ahead(0).bytes);
  for (int distance = 1; distance < call.size; distance *= 2) {
    const int count = std::min(distance, call.size - distance);
    const int to = (call.rank - distance + call.size) % call.size, from = (call.rank + distance) % call.size;
    co_await call.exchange(ConstBytes(from_own_on.part(0, begin(count))), to,
                           from_own_on.part(begin(distance), begin(distance + count) - begin(distance)), from);
  }
  for (int i = 1; i < call.size; ++i) copy_bytes(from_own_on.data() + begin(i), part_of(all, ahead(i)).data(), ahead(i).bytes);
}

Task allgather_bruck(Call call, std::byte* all, std::uint64_t block) {
  return allgatherv_bruck(call, all, Places::equal(block));
}

}  // namespace shim::coll
