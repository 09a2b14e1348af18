// SPDX-License-Identifier: BSD-3-Clause
// Prefix reductions along a chain: each rank combines what comes from the one below with its own and passes that on. Each sends and
// receives once, which is least work in all; the last rank waits for all others. Long data goes in segments, so that ranks work at
// the same time.
#include <array>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

constexpr std::uint64_t kSegmentBytes = 64 * 1024;

struct Chain {
  Call call;
  Operands operands;
  EvenParts segments;

  /// @param whole in one piece: where nobody combines while others wait
  Chain(const Call& of, const Operands& all, bool whole)
      : call(of), operands(all), segments{all.count, whole ? 1 : std::max<std::uint64_t>(1, (all.bytes() + kSegmentBytes - 1) / kSegmentBytes)} {}
  int count() const { return static_cast<int>(segments.parts); }
  std::uint64_t items(int segment) const { return segments.count(segment); }
  bool has_lower() const { return call.rank > 0; }
  bool has_upper() const { return call.rank + 1 < call.size; }
  template <typename Pointer>
  auto at(Pointer array, int segment) const { return operands.at(array, segments.first(segment)); }
};

}  // namespace

Task scan_chain(Call call, Operands operands, const void* own, void* result) {
  const Chain chain(call, operands, false);
  copy_items(operands, own, result);
  // one segment is combined and passed on while the next one comes
  const std::uint64_t room = chain.has_lower() ? chain.items(0) : 0;
  ItemRoom even(call, *operands.type, room), odd(call, *operands.type, room);
  const std::array<std::byte*, 2> rooms{even.data(), odd.data()};
  if (chain.has_lower()) co_await call.receive({rooms[0], chain.items(0), operands.type}, call.rank - 1);
  for (int i = 0; i < chain.count(); ++i) {
    if (chain.has_lower()) {
      co_await Call::combine(operands, rooms[static_cast<std::size_t>(i % 2)], chain.at(result, i), chain.items(i));
      if (i + 1 < chain.count())
        co_await call.post_receive({rooms[static_cast<std::size_t>((i + 1) % 2)], chain.items(i + 1), operands.type}, call.rank - 1);
    }
    if (chain.has_upper())
      co_await call.post_send({chain.at(static_cast<const void*>(result), i), chain.items(i), operands.type}, call.rank + 1);
    co_await call.done();
  }
}

Task exscan_chain(Call call, Operands operands, const void* own, void* result) {
  const Chain chain(call, operands, call.size == 2);
  if (!chain.has_lower()) {  // whose result is not written to
    for (int i = 0; i < chain.count() && chain.has_upper(); ++i)
      co_await call.post_send({chain.at(own, i), chain.items(i), operands.type}, call.rank + 1);
    co_await call.done();
    co_return;
  }
  // what is passed on; our own is copied there before anything comes to where it may lie
  ItemRoom through(call, *operands.type, chain.has_upper() ? operands.count : 0);
  if (chain.has_upper()) types::copy(*operands.type, own, through.data(), operands.count);
  for (int i = 0; i < chain.count(); ++i) {
    co_await call.post_receive({chain.at(result, i), chain.items(i), operands.type}, call.rank - 1);
    co_await call.done();
    if (!chain.has_upper()) continue;
    std::byte* passed = chain.at(static_cast<void*>(through.data()), i);
    co_await Call::combine(operands, chain.at(static_cast<const void*>(result), i), passed, chain.items(i));
    co_await call.post_send({passed, chain.items(i), operands.type}, call.rank + 1);
  }
  co_await call.done();
}

}  // namespace shim::coll
