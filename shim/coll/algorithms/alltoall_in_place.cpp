// SPDX-License-Identifier: BSD-3-Clause
// All-to-all in place: in round k every process exchanges blocks with the one partner for which the ranks add up to k (modulo
// size). Every pair meets exactly once, in the same round on both sides; scratch memory is one block.
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
