// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/inter.hpp"

#include <array>

#include "shim/coll/packed.hpp"

namespace shim::coll {
namespace {

constexpr int kLeader = 0;

// Reduce the local group's data to the leader's `room`.
Task reduce_to_leader(Call local, Operands operands, const void* own, void* scratch) {
  Reduce* algorithm = select_task(&AlgorithmTable::reduce, local, operands.bytes(),
                                  operands.op->commutative);
  Task inner = algorithm(local, operands, own, local.rank == kLeader ? scratch : nullptr, kLeader);
  co_await inner;
}

Task bcast_from_leader(Call local, types::Buffer data) {
  PackedBuffer packed(local, data);
  if (local.rank == kLeader) packed.load();
  Task inner = select_task(&AlgorithmTable::bcast, local, data.bytes())(local, packed.bytes(),
                                                                        kLeader);
  co_await inner;
  if (local.rank != kLeader) packed.store();
}

// Exchange the groups' data between the leaders; `room` receives the remote group's data.
Task swap_of_leaders(Call remote, Operands operands, const void* ours, void* scratch) {
  co_await remote.exchange(operands.all(ours), kLeader, operands.all(scratch), kLeader);
}

}  // namespace

Task inter_barrier(Sides sides) {
  const Call local = sides.local, remote = sides.remote;
  Task gathering = barrier_dissemination(local);
  co_await gathering;
  std::array<std::byte, 2> word{};
  if (local.rank == kLeader)
    co_await remote.exchange(ConstBytes(word).first(1), kLeader, Bytes(word).last(1), kLeader);
  Task release = bcast_binomial(local, Bytes(word).first(1), kLeader);
  co_await release;
}

Task inter_bcast(Sides sides, types::Buffer data, int root) {
  const Call local = sides.local, remote = sides.remote;
  if (root == kRoot) co_await remote.send({data.address, data.count, data.type}, kLeader);
  if (root == kRoot || root == p2p::kProcNull) co_return;
  if (local.rank == kLeader) co_await remote.receive(data, root);
  Task inner = bcast_from_leader(local, data);
  co_await inner;
}

Task inter_reduce(Sides sides, Operands operands, const void* own, void* result, int root) {
  const Call local = sides.local, remote = sides.remote;
  if (root == kRoot) co_await remote.receive(operands.all(result), kLeader);
  if (root == kRoot || root == p2p::kProcNull) co_return;
  ItemScratch scratch(local, *operands.type, local.rank == kLeader ? operands.count : 0);
  Task inner = reduce_to_leader(local, operands, own, scratch.data());
  co_await inner;
  if (local.rank == kLeader)
    co_await remote.send(operands.all(static_cast<const void*>(scratch.data())), root);
}

Task inter_allreduce(Sides sides, Operands operands, const void* own, void* result) {
  const Call local = sides.local, remote = sides.remote;
  ItemScratch scratch(local, *operands.type, local.rank == kLeader ? operands.count : 0);
  Task up = reduce_to_leader(local, operands, own, scratch.data());
  co_await up;
  if (local.rank == kLeader) {
    Task swap = swap_of_leaders(remote, operands, scratch.data(), result);
    co_await swap;
  }
  Task down = bcast_from_leader(local, operands.all(result));
  co_await down;
}

Task inter_reduce_scatter(Sides sides, Operands operands, const void* own, void* result,
                          Integers counts) {
  const Call local = sides.local, remote = sides.remote;
  auto me = static_cast<std::size_t>(local.rank);
  Operands mine{operands.type, operands.op, static_cast<std::uint64_t>(counts[me])};
  ItemScratch ours(local, *operands.type, local.rank == kLeader ? operands.count : 0);
  ItemScratch theirs(local, *operands.type, local.rank == kLeader ? operands.count : 0);
  Task up = reduce_to_leader(local, operands, own, ours.data());
  co_await up;
  if (local.rank != kLeader) {
    co_await local.receive(mine.all(result), kLeader);
    co_return;
  }
  Task swap = swap_of_leaders(remote, operands, ours.data(), theirs.data());
  co_await swap;
  std::vector<std::uint64_t> starts = starts_of(counts);
  for (int rank = 1; rank < local.size; ++rank) {
    auto i = static_cast<std::size_t>(rank);
    co_await local.post_send(operands.part(static_cast<const void*>(theirs.data()), starts[i],
                                           starts[i + 1] - starts[i]),
                             rank);
    if (rank % kWindow == 0) co_await local.done();
  }
  copy_items(mine, theirs.data(), result);
  co_await local.done();
}

}  // namespace shim::coll
