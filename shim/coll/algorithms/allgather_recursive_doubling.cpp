// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling, for short data on powers of two.
// In round k, groups of 2^k processes exchange all their blocks.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allgather_recursive_doubling(Call call, std::byte* all, std::uint64_t block) {
  for (int distance = 1; distance < call.size; distance *= 2) {
    int partner = call.rank ^ distance;
    auto group_of = [&](int rank) {
      auto first = static_cast<std::uint64_t>(rank & ~(distance - 1));
      return Bytes(all + first * block, static_cast<std::uint64_t>(distance) * block);
    };
    co_await call.exchange(ConstBytes(group_of(call.rank)), partner, group_of(partner), partner);
  }
}

}  // namespace shim::coll
