// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of reductions.
#include <array>
#include <vector>

#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/direct.hpp"
#include "shim/coll/inter.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

const void* own_data(const types::ConstBuffer& send, const void* receive) {
  return is_in_place(send) ? receive : send.address;
}

Task choose_reduce_scatter(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                           Operands operands, const Integers& counts) {
  if (is_inter(seq))
    return inter_reduce_scatter(sides_of(seq), operands, send.address, receive, counts);
  if (may_run_directly(seq, table().direct.reduce_scatter, operands.bytes()))
    return directly(seq, [&](Direct& direct) {
      reduce_scatter_direct(direct, operands, own_data(send, receive), receive, counts);
    });
  Call call = call_on(seq);
  ReduceScatter* algorithm = choose(table().reduce_scatter, call, operands.bytes(),
                                    operands.op->commutative);
  return algorithm(call, operands, own_data(send, receive), receive, counts);
}

Task reduce_scatter_equal(CollSeq seq, types::ConstBuffer send, void* receive, Operands block) {
  const int size = is_inter(seq) ? seq.comm->local()->size() : seq.comm->size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(size),
                                   static_cast<std::int64_t>(block.count));
  const Operands operands{block.type, block.op, block.count * static_cast<std::uint64_t>(size)};
  Task inner = choose_reduce_scatter(seq, send, receive, operands, counts);
  co_await inner;
}

}  // namespace

Task reduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op, int root) {
  Operands operands{&type, &op, count};
  if (is_inter(seq)) return inter_reduce(sides_of(seq), operands, send.address, receive, root);
  Call call = call_on(seq);
  void* result = call.rank == root ? receive : nullptr;
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_reduce(shm, operands, own_data(send, receive), result, root);
      }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.reduce, operands.bytes()))
    return directly(seq, [&](Direct& direct) {
      reduce_direct(direct, operands, own_data(send, receive), result, root);
    });
  Reduce* algorithm = choose(table().reduce, call, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), result, root);
}

Task allreduce(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
               std::uint64_t count, const types::Type& type, const types::Op& op) {
  Operands operands{&type, &op, count};
  if (is_inter(seq)) return inter_allreduce(sides_of(seq), operands, send.address, receive);
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_allreduce(shm, operands, own_data(send, receive), receive);
      }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.allreduce, operands.bytes()))
    return directly(seq, [&](Direct& direct) {
      allreduce_direct(direct, operands, own_data(send, receive), receive);
    });
  Call call = call_on(seq);
  Allreduce* algorithm = choose(table().allreduce, call, operands.bytes(), op.commutative);
  return algorithm(call, operands, own_data(send, receive), receive);
}

Task scan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
          const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, count};
  if (may_run_directly(seq, table().direct.scan, operands.bytes()))
    return directly(seq, [&](Direct& direct) {
      scan_direct(direct, operands, own_data(send, receive), receive);
    });
  Scan* algorithm = choose(table().scan, call_on(seq), operands.bytes());
  return algorithm(call_on(seq), operands, own_data(send, receive), receive);
}

Task exscan(const CollSeq& seq, const types::ConstBuffer& send, void* receive, std::uint64_t count,
            const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, count};
  if (may_run_directly(seq, table().direct.exscan, operands.bytes()))
    return directly(seq, [&](Direct& direct) {
      exscan_direct(direct, operands, own_data(send, receive), receive);
    });
  Scan* algorithm = choose(table().exscan, call_on(seq), operands.bytes());
  return algorithm(call_on(seq), operands, own_data(send, receive), receive);
}

Task reduce_scatter(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                    const Integers& counts, const types::Type& type, const types::Op& op) {
  const Operands operands{&type, &op, static_cast<std::uint64_t>(counts.sum())};
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_reduce_scatter(shm, operands, own_data(send, receive), receive, counts);
      }))
    return std::move(*done);
  return choose_reduce_scatter(seq, send, receive, operands, counts);
}

Task reduce_scatter_block(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
                          std::uint64_t count, const types::Type& type, const types::Op& op) {
  const auto by_shm = [&](ShmCollective& shm) {
    std::array<std::int64_t, transport::kMaxShmCollMembers> counts;
    counts.fill(static_cast<std::int64_t>(count));
    const auto size = static_cast<std::size_t>(shm.call.size);
    return shm_reduce_scatter(shm, {&type, &op, count * size}, own_data(send, receive), receive,
                              std::span(counts.data(), size));
  };
  if (auto done = try_shm_collective(seq, by_shm)) return std::move(*done);
  if (!is_inter(seq) &&
      may_run_directly(seq, table().direct.reduce_scatter,
                       count * type.size * static_cast<std::uint64_t>(seq.comm->size()))) {
    const auto each = static_cast<std::int64_t>(count);
    const std::array<std::int64_t, 2> counts{each, each};
    return choose_reduce_scatter(seq, send, receive, {&type, &op, 2 * count}, counts);
  }
  return reduce_scatter_equal(seq, send, receive, {&type, &op, count});
}

}  // namespace shim::coll
