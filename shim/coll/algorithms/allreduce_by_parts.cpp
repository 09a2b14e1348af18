// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long data, cut into a part for each process: it has the values of its part from all others, combines them in
// the order of ranks, and gives the result to all. Everybody waits twice, however many there are, and all messages of one time are under
// way together; so for where they are read straight out of the senders' memory.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {
namespace {

EvenParts parts_of(const Call& call, const Operands& operands) { return {operands.count, static_cast<std::uint64_t>(call.size)}; }

/// Combines this process's part of all values, of which `values` has room for one from each process; the result is the last of them.
Task combine_own_part(Call call, Operands operands, const void* own, std::byte* values) {
  const EvenParts parts = parts_of(call, operands);
  const std::uint64_t count = parts.count(call.rank);
  const auto value_of = [&](int rank) { return operands.at(static_cast<void*>(values), static_cast<std::uint64_t>(rank) * count); };
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size, to = (call.rank + step) % call.size;
    co_await call.post_receive({value_of(from), count, operands.type}, from);
    co_await call.post_send(operands.part(own, parts.first(to), parts.count(to)), to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  types::copy(*operands.type, operands.at(own, parts.first(call.rank)), value_of(call.rank), count);
  co_await call.done();
  for (int rank = 1; rank < call.size; ++rank) co_await Call::combine(operands, value_of(rank - 1), value_of(rank), count);
}

}  // namespace

Task allreduce_by_parts(Call call, Operands operands, const void* own, void* result) {
  const EvenParts parts = parts_of(call, operands);
  const std::uint64_t count = parts.count(call.rank);
  ItemRoom values(call, *operands.type, count * parts.parts);
  Task combining = combine_own_part(call, operands, own, values.data());
  co_await combining;
  const void* combined = operands.at(static_cast<const void*>(values.data()), count * (parts.parts - 1));
  for (int step = 1; step < call.size; ++step) {
    const int from = (call.rank - step + call.size) % call.size, to = (call.rank + step) % call.size;
    co_await call.post_receive(operands.part(result, parts.first(from), parts.count(from)), from);
    co_await call.post_send({combined, count, operands.type}, to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  types::copy(*operands.type, combined, operands.at(result, parts.first(call.rank)), count);
  co_await call.done();
}

}  // namespace shim::coll
