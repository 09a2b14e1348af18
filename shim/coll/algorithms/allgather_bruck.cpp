// SPDX-License-Identifier: BSD-3-Clause
// Allgather after Bruck: in round k a process gets from 2^k ahead all that one has, so that it knows the blocks of consecutive
// ranks from its own on. For short data, ceil(log2 size) rounds at any size; costs one copy of the data.
#include <algorithm>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgather_bruck(Call call, std::byte* all, std::uint64_t block) {
  auto blocks = [block](int count) { return static_cast<std::uint64_t>(count) * block; };
  Scratch from_own_on(call, blocks(call.size));
  std::byte* have = from_own_on.data();
  copy_bytes(all + blocks(call.rank), have, block);
  for (int distance = 1; distance < call.size; distance *= 2) {
    int count = std::min(distance, call.size - distance);
    int to = (call.rank - distance + call.size) % call.size;
    int from = (call.rank + distance) % call.size;
    co_await call.exchange(ConstBytes(have, blocks(count)), to, Bytes(have + blocks(distance), blocks(count)), from);
  }
  int before_wrap = call.size - call.rank;
  copy_bytes(have, all + blocks(call.rank), blocks(before_wrap));
  copy_bytes(have + blocks(before_wrap), all, blocks(call.rank));
}

}  // namespace shim::coll
