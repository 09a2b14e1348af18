// SPDX-License-Identifier: BSD-3-Clause
// Entries of the collectives that combine data with an operation.
#include <numeric>
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"

namespace shim::coll {
namespace {

const void* own_data(const types::ConstBuffer& send, const void* receive) {
  return is_in_place(send) ? receive : send.address;
}

Task choose_reduce_scatter(Call call, const types::ConstBuffer& send, void* receive, Operands operands, Counts counts) {
  ReduceScatter* algorithm = choose(table().reduce_scatter, call.size, operands.bytes(), operands.op->commutative);
  return algorithm(call, operands, own_data(send, receive), receive, counts);
}

Task reduce_scatter_equal(Call call, types::ConstBuffer send, void* receive, std::uint64_t count, Operands operands) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(call.size), static_cast<std::int64_t>(count));
  Task inner = choose_reduce_scatter(call, send, receive, operands, counts);
  co_await inner;
}

}  // namespace

Task reduce(Turn turn, types::ConstBuffer send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op, int root) {
  Call call = call_on(turn);
  Operands operands{&type, &op, count};
  void* result = call.rank == root ? receive : nullptr;
  Reduce* algorithm = choose(table().reduce, call.size, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), result, root);
}

Task allreduce(Turn turn, types::ConstBuffer send, void* receive, std::uint64_t count, const types::Type& type,
               const types::Op& op) {
  Call call = call_on(turn);
  Operands operands{&type, &op, count};
  Allreduce* algorithm = choose(table().allreduce, call.size, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), receive);
}

Task scan(Turn turn, types::ConstBuffer send, void* receive, std::uint64_t count, const types::Type& type,
          const types::Op& op) {
  return scan_recursive_doubling(call_on(turn), {&type, &op, count}, own_data(send, receive), receive);
}

Task exscan(Turn turn, types::ConstBuffer send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op) {
  return exscan_recursive_doubling(call_on(turn), {&type, &op, count}, own_data(send, receive), receive);
}

Task reduce_scatter(Turn turn, types::ConstBuffer send, void* receive, std::span<const std::int64_t> counts,
                    const types::Type& type, const types::Op& op) {
  auto total = static_cast<std::uint64_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  return choose_reduce_scatter(call_on(turn), send, receive, {&type, &op, total}, counts);
}

Task reduce_scatter_block(Turn turn, types::ConstBuffer send, void* receive, std::uint64_t count,
                          const types::Type& type, const types::Op& op) {
  Call call = call_on(turn);
  return reduce_scatter_equal(call, send, receive, count, {&type, &op, count * static_cast<std::uint64_t>(call.size)});
}

}  // namespace shim::coll
