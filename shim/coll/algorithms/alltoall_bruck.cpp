// SPDX-License-Identifier: BSD-3-Clause
// All-to-all by Bruck's algorithm, for very short blocks.
// A block's distance is the number of ranks from its sender to its receiver. In round k each
// process sends, in one message to the process 2^k ahead, all blocks whose distance has bit k:
// ceil(log2 size) messages per process instead of size - 1, but a block is sent once per set bit.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

// Call move for each block whose distance has the bit `leap`, with its address in `by_distance` and
// its address in the contiguous message `run`; return the bytes of the message.
template <typename Move>
std::uint64_t for_each_leaping(int size, int leap, std::byte* by_distance, std::byte* run,
                               std::uint64_t block, Move move) {
  std::uint64_t bytes = 0;
  for (int distance = leap; distance < size; ++distance) {
    if ((distance & leap) == 0) continue;
    move(by_distance + static_cast<std::uint64_t>(distance) * block, run + bytes);
    bytes += block;
  }
  return bytes;
}

}  // namespace

Task alltoall_bruck(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  auto at = [block](int rank) { return static_cast<std::uint64_t>(rank) * block; };
  Scratch blocks(call, at(call.size)), out(call, at(call.size)), in(call, at(call.size));
  // block d is for the process d ahead
  copy_bytes(send + at(call.rank), blocks.data(), at(call.size - call.rank));
  copy_bytes(send, blocks.data() + at(call.size - call.rank), at(call.rank));
  for (int leap = 1; leap < call.size; leap *= 2) {
    std::uint64_t bytes = for_each_leaping(
        call.size, leap, blocks.data(), out.data(), block,
        [&](std::byte* block_at, std::byte* run) { copy_bytes(block_at, run, block); });
    int to = (call.rank + leap) % call.size;
    int from = (call.rank - leap + call.size) % call.size;
    co_await call.exchange(ConstBytes(out.part(0, bytes)), to, in.part(0, bytes), from);
    for_each_leaping(
        call.size, leap, blocks.data(), in.data(), block,
        [&](std::byte* block_at, std::byte* run) { copy_bytes(run, block_at, block); });
  }
  // the block at distance d came from the process d behind
  for (int distance = 0; distance < call.size; ++distance) {
    int source = (call.rank - distance + call.size) % call.size;
    copy_bytes(blocks.data() + at(distance), receive + at(source), block);
  }
}

}  // namespace shim::coll
