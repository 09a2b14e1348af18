// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/algorithms/halving.hpp"

namespace shim::coll {
namespace {

struct ItemRange {
  std::uint64_t first, count;
};
ItemRange items_of(const Operands& operands, const Fold& fold, PartRange range) {
  EvenParts parts{operands.count, static_cast<std::uint64_t>(fold.power)};
  return {parts.first(range.first), parts.count(range.first, range.end)};
}

}  // namespace

PartRange range_of(int number, int distance, int power) {
  PartRange range{0, power};
  for (int bit = 1; bit < distance; bit *= 2) {
    int middle = (range.first + range.end) / 2;
    if ((number & bit) == 0)
      range.end = middle;
    else
      range.first = middle;
  }
  return range;
}

Task reduce_by_halving(Call call, Operands operands, Fold fold, void* value, void* spare) {
  int number = fold.number_of(call.rank);
  for (int distance = 1; distance < fold.power; distance *= 2) {
    int partner = number ^ distance;
    ItemRange mine = items_of(operands, fold, range_of(number, 2 * distance, fold.power));
    ItemRange theirs = items_of(operands, fold, range_of(partner, 2 * distance, fold.power));
    int rank = fold.rank_of(partner);
    co_await call.exchange(
        operands.part(static_cast<const void*>(value), theirs.first, theirs.count), rank,
        operands.part(spare, mine.first, mine.count), rank);
    void* own = operands.at(value, mine.first);
    void* received = operands.at(spare, mine.first);
    if (partner < number || operands.op->commutative) {
      co_await Call::combine(operands, received, own, mine.count);
    } else {
      co_await Call::combine(operands, own, received, mine.count);
      types::copy(*operands.type, received, own, mine.count);
    }
  }
}

Task share_parts(Call call, Operands operands, Fold fold, void* value) {
  int number = fold.number_of(call.rank);
  for (int distance = fold.power / 2; distance > 0; distance /= 2) {
    int partner = number ^ distance;
    ItemRange mine = items_of(operands, fold, range_of(number, 2 * distance, fold.power));
    ItemRange theirs = items_of(operands, fold, range_of(partner, 2 * distance, fold.power));
    int rank = fold.rank_of(partner);
    co_await call.exchange(operands.part(static_cast<const void*>(value), mine.first, mine.count),
                           rank, operands.part(value, theirs.first, theirs.count), rank);
  }
}

Task collect_parts(Call call, Operands operands, Fold fold, void* value, int root) {
  int number = fold.number_of(call.rank);
  for (int distance = fold.power / 2; distance > 0; distance /= 2) {
    int partner = number ^ distance;
    int rank = fold.rank_of(partner);
    if ((number & distance) != (root & distance)) {
      ItemRange mine = items_of(operands, fold, range_of(number, 2 * distance, fold.power));
      co_await call.send(operands.part(static_cast<const void*>(value), mine.first, mine.count),
                         rank);
      co_return;
    }
    ItemRange theirs = items_of(operands, fold, range_of(partner, 2 * distance, fold.power));
    co_await call.receive(operands.part(value, theirs.first, theirs.count), rank);
  }
}

}  // namespace shim::coll
