// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data around a ring, for commutative operations.
// Each part of the vector is reduced on its first trip around the ring and distributed on a second
// one. Each process sends about twice the data at any size. Each part starts at a different rank,
// so that the operation must commute. Each part is computed once, in a fixed order of ranks, so
// that all processes get identical bits.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task allreduce_ring(Call call, Operands operands, const void* own, void* result) {
  copy_items(operands, own, result);
  EvenParts even{operands.count, static_cast<std::uint64_t>(call.size)};
  ItemScratch scratch(call, *operands.type, call.size > 1 ? even.count(0) : 0);
  int right = (call.rank + 1) % call.size;
  int left = (call.rank - 1 + call.size) % call.size;
  int have = call.rank;  // the part to which this process added its value last
  for (int step = 1; step < call.size; ++step) {
    int next = (have - 1 + call.size) % call.size;
    co_await call.exchange(
        operands.part(static_cast<const void*>(result), even.first(have), even.count(have)), right,
        operands.part(static_cast<void*>(scratch.data()), 0, even.count(next)), left);
    co_await Call::combine(operands, scratch.data(), operands.at(result, even.first(next)),
                           even.count(next));
    have = next;
  }
  for (int step = 1; step < call.size; ++step) {
    int next = (have - 1 + call.size) % call.size;
    co_await call.exchange(
        operands.part(static_cast<const void*>(result), even.first(have), even.count(have)), right,
        operands.part(result, even.first(next), even.count(next)), left);
    have = next;
  }
}

}  // namespace shim::coll
