// SPDX-License-Identifier: BSD-3-Clause
// All-to-all in place, with one block of scratch memory.
// In round k each process exchanges blocks with the partner for which both ranks add up to k
// (modulo size). Each pair exchanges exactly once, in one round on both sides.
#include <algorithm>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task alltoall_in_place(Call call, std::span<const types::Buffer> data) {
  std::uint64_t longest = 0;
  for (const types::Buffer& block : data) longest = std::max(longest, block.bytes());
  Scratch outgoing(call, longest);
  for (int round = 0; round < call.size; ++round) {
    int partner = (round - call.rank + call.size) % call.size;
    if (partner == call.rank) continue;
    const types::Buffer& block = data[static_cast<std::size_t>(partner)];
    Bytes packed = outgoing.part(0, block.bytes());
    types::pack(*block.type, block.address, 0, packed);
    co_await call.post_receive(block, partner);
    co_await call.send(ConstBytes(packed), partner);
  }
}

}  // namespace shim::coll
