// SPDX-License-Identifier: BSD-3-Clause
// Reduce of long data along a chain to the root, in segments.
// Each process combines data from the process behind it with its own and sends it on. Needs the
// least work, as no data is sent or combined twice, but the root waits for the whole chain.
// Operands combine in the order of the chain, which starts at the root, so that the operation must
// commute.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/segments.hpp"

namespace shim::coll {

Task reduce_chain(Call call, Operands operands, const void* own, void* result, int root) {
  const Segments segments(operands, kChainSegmentBytes);
  const int number = (call.rank - root + call.size) % call.size;  // in the chain; the root is 0
  const bool is_root = number == 0, is_last = number + 1 == call.size;
  const int ahead = (call.rank - 1 + call.size) % call.size, behind = (call.rank + 1) % call.size;
  if (is_last) {
    if (is_root) {
      copy_items(operands, own, result);
      co_return;
    }
    Task posting = post_segments(call, segments, own, ahead);
    co_await posting;
    co_await call.done();
    co_return;
  }
  // combine in the receive buffer: at the root the result, unless the local data is there; else one
  // of two buffers, of which one is sent while the other is filled
  const bool to_result = is_root && own != result;
  const std::uint64_t items = to_result ? 0 : segments.items(0);
  ItemScratch even(call, *operands.type, items), odd(call, *operands.type, is_root ? 0 : items);
  for (int i = 0; i < segments.count(); ++i) {
    void* value = to_result               ? static_cast<void*>(segments.at(result, i))
                  : i % 2 == 0 || is_root ? even.data()
                                          : odd.data();
    co_await call.post_receive({value, segments.items(i), operands.type}, behind);
    co_await call.done();
    co_await Call::combine(operands, segments.at(own, i), value, segments.items(i));
    if (!is_root)
      co_await call.post_send({value, segments.items(i), operands.type}, ahead);
    else if (!to_result)
      types::copy(*operands.type, value, segments.at(result, i), segments.items(i));
  }
  co_await call.done();
}

}  // namespace shim::coll
