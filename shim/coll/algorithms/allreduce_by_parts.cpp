// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data that is cut into one part per process.
// Each process receives its part of the vector from all other processes, combines the parts in an
// order that depends on ranks alone, and sends the result to all. Two phases, in each of which up
// to kWindow messages are in flight together; best if receivers read the senders' memory directly.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

/// All processes' values of the part that this process combines, by index in the order of
/// combination; each value is combined into the next. The last value, which becomes the result, is
/// at its destination, unless this process's own data is there. If the operation commutes, this
/// process's value is first, because the first value is only read and needs no copy.
class OwnPart {
 public:
  OwnPart(const Call& call, const Operands& operands, const EvenParts& parts, const void* own,
          void* result)
      : operands_{operands.type, operands.op, parts.count(call.rank)},
        size_(call.size),
        rank_(call.rank),
        first_(operands.op->commutative ? call.rank : 0),
        own_(operands.at(own, parts.first(call.rank))),
        result_(operands.at(result, parts.first(call.rank))),
        scratch_(call, *operands.type, operands_.count * parts.parts) {}

  /// Return the operands of one part.
  const Operands& operands() const { return operands_; }
  /// Return the buffer for the value from this rank.
  types::Buffer scratch_of(int rank) const { return operands_.all(at(index_of(rank))); }
  /// Copy this process's value to its index, unless it is index 0 and only read.
  void add_own() const {
    if (const int index = index_of(rank_); index != 0 || size_ == 1)
      copy_items(operands_, own_, at(index));
  }
  /// Return the value at this index of the order.
  const void* value(int index) const { return index == 0 && first_ == rank_ ? own_ : at(index); }
  void* at(int index) const {
    const bool is_last = index + 1 == size_;
    if (is_last && (own_ != result_ || index_of(rank_) == index)) return result_;
    return operands_.at(static_cast<void*>(scratch_.data()),
                        static_cast<std::uint64_t>(index) * operands_.count);
  }
  void* combined() const { return at(size_ - 1); }
  void put_in_place() const { copy_items(operands_, combined(), result_); }

 private:
  int index_of(int rank) const { return (rank - first_ + size_) % size_; }

  Operands operands_;
  int size_, rank_, first_;
  const void* own_;
  void* result_;
  ItemScratch scratch_;
};

/// Send the other processes their parts of the local data, and combine the local part.
Task combine_own_part(Call call, Operands operands, EvenParts parts, const void* own,
                      OwnPart* part) {
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size,
              to = (call.rank + step) % call.size;
    co_await call.post_receive(part->scratch_of(from), from);
    co_await call.post_send(operands.part(own, parts.first(to), parts.count(to)), to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  part->add_own();
  co_await call.done();
  for (int index = 1; index < call.size; ++index)
    co_await Call::combine(part->operands(), part->value(index - 1), part->at(index),
                           part->operands().count);
}

}  // namespace

Task allreduce_by_parts(Call call, Operands operands, const void* own, void* result) {
  const EvenParts parts{operands.count, static_cast<std::uint64_t>(call.size)};
  OwnPart part(call, operands, parts, own, result);
  Task combining = combine_own_part(call, operands, parts, own, &part);
  co_await combining;
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size,
              to = (call.rank + step) % call.size;
    co_await call.post_receive(operands.part(result, parts.first(from), parts.count(from)), from);
    co_await call.post_send(part.operands().all(static_cast<const void*>(part.combined())), to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  part.put_in_place();
  co_await call.done();
}

}  // namespace shim::coll
