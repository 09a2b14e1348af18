// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data, cut into a part for each process: it has the values of its part from all others, combines them in
// an order that depends on ranks alone, and gives the result to all. Everybody waits twice, however many there are, and all messages of one
// time are under way together; so for where they are read straight out of the senders' memory.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

/// One process's part of all values, in the order in which they are combined, each into the next. The last one lies where the result is to
/// be, unless the process's own data is there. Where the order is free, the own value is the first, which is only read.
class OwnPart {
 public:
  OwnPart(const Call& call, const Operands& operands, const EvenParts& parts, const void* own, void* result)
      : operands_{operands.type, operands.op, parts.count(call.rank)}, size_(call.size), rank_(call.rank),
        first_(operands.op->commutative ? call.rank : 0), own_(operands.at(own, parts.first(call.rank))),
        result_(operands.at(result, parts.first(call.rank))), rooms_(call, *operands.type, operands_.count * parts.parts) {}

  /// Of all values of the part.
  const Operands& operands() const { return operands_; }
  /// Where what comes from this rank is to lie.
  types::Buffer room_of(int rank) const { return operands_.all(at(place_of(rank))); }
  /// Before they are combined.
  void add_own() const {
    if (const int place = place_of(rank_); place != 0 || size_ == 1) copy_items(operands_, own_, at(place));
  }
  /// In this order.
  const void* value(int place) const { return place == 0 && first_ == rank_ ? own_ : at(place); }
  void* at(int place) const {
    const bool is_last = place + 1 == size_;
    if (is_last && (own_ != result_ || place_of(rank_) == place)) return result_;
    return operands_.at(static_cast<void*>(rooms_.data()), static_cast<std::uint64_t>(place) * operands_.count);
  }
  void* combined() const { return at(size_ - 1); }
  void put_in_place() const { copy_items(operands_, combined(), result_); }

 private:
  int place_of(int rank) const { return (rank - first_ + size_) % size_; }

  Operands operands_;
  int size_, rank_, first_;
  const void* own_;
  void* result_;
  ItemRoom rooms_;
};

/// Sends the others their parts of the own data, and combines the own part.
Task combine_own_part(Call call, Operands operands, EvenParts parts, const void* own, OwnPart* part) {
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size, to = (call.rank + step) % call.size;
    co_await call.post_receive(part->room_of(from), from);
    co_await call.post_send(operands.part(own, parts.first(to), parts.count(to)), to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  part->add_own();
  co_await call.done();
  for (int place = 1; place < call.size; ++place)
    co_await Call::combine(part->operands(), part->value(place - 1), part->at(place), part->operands().count);
}

}  // namespace

Task allreduce_by_parts(Call call, Operands operands, const void* own, void* result) {
  const EvenParts parts{operands.count, static_cast<std::uint64_t>(call.size)};
  OwnPart part(call, operands, parts, own, result);
  Task combining = combine_own_part(call, operands, parts, own, &part);
  co_await combining;
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size, to = (call.rank + step) % call.size;
    co_await call.post_receive(operands.part(result, parts.first(from), parts.count(from)), from);
    co_await call.post_send(part.operands().all(static_cast<const void*>(part.combined())), to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  part.put_in_place();
  co_await call.done();
}

}  // namespace shim::coll
