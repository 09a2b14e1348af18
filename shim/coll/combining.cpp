// SPDX-License-Identifier: BSD-3-Clause
// Entries of the collectives that combine data with an operation.
#include <array>
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/direct.hpp"
#include "shim/coll/inter.hpp"
#include "shim/coll/meeting.hpp"

namespace shim::coll {
namespace {

const void* own_data(const types::ConstBuffer& send, const void* receive) {
  return is_in_place(send) ? receive : send.address;
}

Task choose_reduce_scatter(const Turn& turn, const types::ConstBuffer& send, void* receive, Operands operands, const Integers& counts) {
  if (is_inter(turn)) return inter_reduce_scatter(sides_of(turn), operands, send.address, receive, counts);
  if (goes_directly(turn, table().direct.reduce_scatter, operands.bytes()))
    return directly(turn, [&](Direct& direct) { reduce_scatter_direct(direct, operands, own_data(send, receive), receive, counts); });
  Call call = call_on(turn);
  ReduceScatter* algorithm = choose(table().reduce_scatter, call, operands.bytes(), operands.op->commutative);
  return algorithm(call, operands, own_data(send, receive), receive, counts);
}

Task reduce_scatter_equal(Turn turn, types::ConstBuffer send, void* receive, Operands block) {
  const int size = is_inter(turn) ? turn.comm->local()->size() : turn.comm->size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size), static_cast<std::int64_t>(block.count));
  const Operands operands{block.type, block.op, block.count * static_cast<std::uint64_t>(size)};
  Task inner = choose_reduce_scatter(turn, send, receive, operands, counts);
  co_await inner;
}

}  // namespace

Task reduce(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op, int root) {
  Operands operands{&type, &op, count};
  if (is_inter(turn)) return inter_reduce(sides_of(turn), operands, send.address, receive, root);
  Call call = call_on(turn);
  void* result = call.rank == root ? receive : nullptr;
  if (auto done = at_board(turn, [&](Meeting& meeting) { return meet_reduce(meeting, operands, own_data(send, receive), result, root); }))
    return std::move(*done);
  if (goes_directly(turn, table().direct.reduce, operands.bytes()))
    return directly(turn, [&](Direct& direct) { reduce_direct(direct, operands, own_data(send, receive), result, root); });
  Reduce* algorithm = choose(table().reduce, call, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), result, root);
}

Task allreduce(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
               const types::Op& op) {
  Operands operands{&type, &op, count};
  if (is_inter(turn)) return inter_allreduce(sides_of(turn), operands, send.address, receive);
  if (auto done = at_board(turn, [&](Meeting& meeting) { return meet_allreduce(meeting, operands, own_data(send, receive), receive); }))
    return std::move(*done);
  if (goes_directly(turn, table().direct.allreduce, operands.bytes()))
    return directly(turn, [&](Direct& direct) { allreduce_direct(direct, operands, own_data(send, receive), receive); });
  Call call = call_on(turn);
  Allreduce* algorithm = choose(table().allreduce, call, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), receive);
}

Task scan(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
          const types::Op& op) {
  const Operands operands{&type, &op, count};
  if (goes_directly(turn, table().direct.scan, operands.bytes()))
    return directly(turn, [&](Direct& direct) { scan_direct(direct, operands, own_data(send, receive), receive); });
  Scan* algorithm = choose(table().scan, call_on(turn), operands.bytes());
  return algorithm(call_on(turn), operands, own_data(send, receive), receive);
}

Task exscan(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count, const types::Type& type,
            const types::Op& op) {
  const Operands operands{&type, &op, count};
  if (goes_directly(turn, table().direct.exscan, operands.bytes()))
    return directly(turn, [&](Direct& direct) { exscan_direct(direct, operands, own_data(send, receive), receive); });
  Scan* algorithm = choose(table().exscan, call_on(turn), operands.bytes());
  return algorithm(call_on(turn), operands, own_data(send, receive), receive);
}

Task reduce_scatter(const Turn& turn, const types::ConstBuffer& send, void* receive, const Integers& counts,
                    const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, static_cast<std::uint64_t>(counts.sum())};
  if (auto done = at_board(turn, [&](Meeting& meeting) { return meet_reduce_scatter(meeting, operands, own_data(send, receive), receive, counts); }))
    return std::move(*done);
  return choose_reduce_scatter(turn, send, receive, operands, counts);
}

Task reduce_scatter_block(const Turn& turn, const types::ConstBuffer& send, void* receive, std::uint64_t count,
                          const types::Type& type, const types::Op& op) {
  const auto meet = [&](Meeting& meeting) {
    std::array<std::int64_t, transport::kBoardMembers> counts;
    counts.fill(static_cast<std::int64_t>(count));
    const auto size = static_cast<std::size_t>(meeting.call.size);
    return meet_reduce_scatter(meeting, {&type, &op, count * size}, own_data(send, receive), receive, std::span(counts.data(), size));
  };
  if (auto done = at_board(turn, meet)) return std::move(*done);
  if (!is_inter(turn) && goes_directly(turn, table().direct.reduce_scatter, count * type.size * static_cast<std::uint64_t>(turn.comm->size()))) {
    const auto each = static_cast<std::int64_t>(count);
    const std::array<std::int64_t, 2> counts{each, each};
    return choose_reduce_scatter(turn, send, receive, {&type, &op, 2 * count}, counts);
  }
  return reduce_scatter_equal(turn, send, receive, {&type, &op, count});
}

}  // namespace shim::coll
