// SPDX-License-Identifier: BSD-3-Clause
// All-to-all in place: in round k every process exchanges blocks with the one partner for which the ranks add up to k (modulo
// size). Every pair meets exactly once, in the same round on both sides; scratch memory is one block.
#include <algorithm>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task alltoall_in_place(Call call, std::byte* data, std::span<const Part> parts) {
  std::uint64_t longest = 0;
  for (const Part& part : parts) longest = std::max(longest, part.bytes);
  Scratch outgoing(longest);
  for (int round = 0; round < call.size; ++round) {
    int partner = (round - call.rank + call.size) % call.size;
    if (partner == call.rank) continue;
    Bytes block = part_of(data, parts[static_cast<std::size_t>(partner)]);
    copy_bytes(block.data(), outgoing.data(), block.size());
    co_await call.exchange(ConstBytes(outgoing.part(0, block.size())), partner, block, partner);
  }
}

}  // namespace shim::coll
