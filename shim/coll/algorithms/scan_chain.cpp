// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan along a chain of ranks, in segments.
// Each rank combines data from the next lower rank with its own and sends it on. Each rank sends
// and receives the data once, which is the least work, but the last rank waits for all others. With
// segments all ranks work at once.
#include <array>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/segments.hpp"

namespace shim::coll {
namespace {

bool has_lower(const Call& call) { return call.rank > 0; }
bool has_upper(const Call& call) { return call.rank + 1 < call.size; }

}  // namespace

Task scan_chain(Call call, Operands operands, const void* own, void* result) {
  const Segments segments(operands, kChainSegmentBytes);
  // Send from the user's buffer, not from the new copy in `result`, because the next process would
  // have to fetch that copy from this core's cache.
  if (!has_lower(call)) {
    if (has_upper(call)) {
      Task posting = post_segments(call, segments, own, call.rank + 1);
      co_await posting;
    }
    copy_items(operands, own, result);
    co_await call.done();
    co_return;
  }
  copy_items(operands, own, result);
  // combine and forward one segment while the next arrives
  const std::uint64_t items = segments.items(0);
  ItemScratch even(call, *operands.type, items),
      odd(call, *operands.type, segments.count() > 1 ? items : 0);
  const std::array<std::byte*, 2> scratches{even.data(), odd.data()};
  co_await call.receive({scratches[0], segments.items(0), operands.type}, call.rank - 1);
  for (int i = 0; i < segments.count(); ++i) {
    co_await Call::combine(operands, scratches[static_cast<std::size_t>(i % 2)],
                           segments.at(result, i), segments.items(i));
    if (i + 1 < segments.count())
      co_await call.post_receive(
          {scratches[static_cast<std::size_t>((i + 1) % 2)], segments.items(i + 1), operands.type},
          call.rank - 1);
    if (has_upper(call))
      co_await call.post_send(segments.of(static_cast<const void*>(result), i), call.rank + 1);
    co_await call.done();
  }
}

Task exscan_chain(Call call, Operands operands, const void* own, void* result) {
  // of two processes none combines data, so that segments have no benefit: use one
  const Segments segments(operands, call.size == 2 ? operands.bytes() + 1 : kChainSegmentBytes);
  if (!has_lower(call)) {  // exscan leaves rank 0's result unchanged
    if (!has_upper(call)) co_return;
    Task posting = post_segments(call, segments, own, call.rank + 1);
    co_await posting;
    co_await call.done();
    co_return;
  }
  // data to forward; copy the local data there before receiving into a buffer that may overlap it
  ItemScratch through(call, *operands.type, has_upper(call) ? operands.count : 0);
  if (has_upper(call)) types::copy(*operands.type, own, through.data(), operands.count);
  for (int i = 0; i < segments.count(); ++i) {
    co_await call.post_receive(segments.of(result, i), call.rank - 1);
    co_await call.done();
    if (!has_upper(call)) continue;
    std::byte* passed = segments.at(static_cast<void*>(through.data()), i);
    co_await Call::combine(operands, segments.at(static_cast<const void*>(result), i), passed,
                           segments.items(i));
    co_await call.post_send({passed, segments.items(i), operands.type}, call.rank + 1);
  }
  co_await call.done();
}

}  // namespace shim::coll
