// SPDX-License-Identifier: BSD-3-Clause
// Entry functions of collectives that move data from or to a root, and of the barrier.
// They handle in-place forms and types with holes. They try the segment first, then direct
// messages, then the algorithm that the table selects.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/direct.hpp"
#include "shim/coll/inter.hpp"
#include "shim/coll/packed.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

Task gather_packed(Call call, types::ConstBuffer send, types::Buffer receive, int root) {
  PackedBuffer own, all;
  Bytes block;
  if (call.rank == root) {
    all = PackedBuffer(call, *receive.type, receive.address,
                       receive.count * static_cast<std::uint64_t>(call.size));
    std::uint64_t first = static_cast<std::uint64_t>(root) * receive.bytes();
    block = all.bytes().subspan(first, receive.bytes());
    if (is_in_place(send))
      all.load(first, receive.bytes());
    else
      co_await Call::copy_local(send, Call::buffer(block));
  } else {
    own = PackedBuffer(call, send);
    own.load();
    block = own.bytes();
  }
  Task inner = choose(table().gather, call, block.size())(call, block, all.data(), root);
  co_await inner;
  all.store();
}

Task gatherv_packed(Call call, types::ConstBuffer send, void* receive, Blocks blocks,
                    const types::Type* type, int root) {
  PackedBuffer own;
  PackedBlocks all;
  Bytes block;
  if (call.rank == root) {
    all = PackedBlocks(call, *type, receive, blocks);
    block = all.part(root);
    if (is_in_place(send))
      all.load(root);
    else
      co_await Call::copy_local(send, Call::buffer(block));
  } else {
    own = PackedBuffer(call, send);
    own.load();
    block = own.bytes();
  }
  Task inner = gatherv_linear(call, block, all.data(), all.parts(), root);
  co_await inner;
  all.store();
}

Task scatter_packed(Call call, types::ConstBuffer send, types::Buffer receive, int root) {
  const bool is_root = call.rank == root, in_place = is_root && receive.type == nullptr;
  PackedBuffer all, own;
  Bytes block;
  if (is_root) {
    all = PackedBuffer(call, *send.type, const_cast<void*>(send.address),
                       send.count * static_cast<std::uint64_t>(call.size));
    all.load();
    block = all.bytes().subspan(static_cast<std::uint64_t>(root) * send.bytes(), send.bytes());
    if (!in_place) co_await Call::copy_local(Call::buffer(ConstBytes(block)), receive);
  } else {
    own = PackedBuffer(call, receive);
    block = own.bytes();
  }
  Task inner = choose(table().scatter, call, block.size())(call, all.data(), block, root);
  co_await inner;
  own.store();
}

Task scatterv_packed(Call call, const void* send, Blocks blocks, const types::Type* type,
                     types::Buffer receive, int root) {
  const bool is_root = call.rank == root, in_place = is_root && receive.type == nullptr;
  PackedBlocks all;
  PackedBuffer own;
  Bytes block;
  if (is_root) {
    all = PackedBlocks(call, *type, const_cast<void*>(send), blocks);
    all.load();
    block = all.part(root);
    if (!in_place) co_await Call::copy_local(Call::buffer(ConstBytes(block)), receive);
  } else {
    own = PackedBuffer(call, receive);
    block = own.bytes();
  }
  Task inner = scatterv_linear(call, all.data(), all.parts(), block, root);
  co_await inner;
  own.store();
}

}  // namespace

Task bcast_of_items(Call call, types::Buffer data, int root) {
  PackedBuffer packed(call, data);
  if (call.rank == root) packed.load();
  Task inner = choose(table().bcast, call, data.bytes())(call, packed.bytes(), root);
  co_await inner;
  if (call.rank != root) packed.store();
}

Task barrier(const CollSeq& seq) {
  if (is_inter(seq)) return inter_barrier(sides_of(seq));
  if (auto done = try_shm_collective(seq, shm_barrier)) return std::move(*done);
  if (may_run_directly(seq, table().direct.barrier_linear, 0))
    return directly(seq, barrier_linear_direct);
  if (may_run_directly(seq, table().direct.barrier, 0)) return directly(seq, barrier_direct);
  const Call call = call_on(seq);
  return choose(table().barrier, call, 0)(call);
}

Task bcast(const CollSeq& seq, const types::Buffer& data, int root) {
  if (is_inter(seq)) return inter_bcast(sides_of(seq), data, root);
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_bcast(shm, data, root); }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.bcast, data.bytes()))
    return directly(seq, [&](Direct& direct) { bcast_direct(direct, data, root); });
  Call call = call_on(seq);
  if (!is_plain(data)) return bcast_of_items(call, data, root);
  return choose(table().bcast, call, data.bytes())(call, plain(data), root);
}

Task gather(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
            int root) {
  Call call = call_on(seq);
  const bool is_root = call.rank == root, in_place = is_in_place(send);
  const std::uint64_t bytes = in_place ? receive.bytes() : send.bytes();
  const BlocksIn blocks{receive.address, receive.type, nullptr, receive.count};
  if (auto done = try_shm_collective(
          seq, [&](ShmCollective& shm) { return shm_gather(shm, send, blocks, bytes, root); }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.gather, bytes))
    return directly(seq, [&](Direct& direct) { gather_direct(direct, send, blocks, root); });
  if (may_run_directly(seq, table().direct.gather_tree, bytes))
    return directly(seq, [&](Direct& direct) { gather_tree_direct(direct, send, blocks, root); });
  const bool all_plain = (in_place || is_plain(send)) && (!is_root || is_plain(receive));
  if (!all_plain || (is_root && !in_place && send.bytes() != receive.bytes()))
    return gather_packed(call, send, receive, root);
  std::byte* all = is_root ? plain(receive).data() : nullptr;
  ConstBytes own;
  if (!in_place)
    own = plain(send);
  else
    own = {all + static_cast<std::uint64_t>(root) * receive.bytes(), receive.bytes()};
  return choose(table().gather, call, own.size())(call, own, all, root);
}

Task gatherv(const CollSeq& seq, const types::ConstBuffer& send, void* receive,
             const Blocks& blocks, const types::Type* type, int root) {
  Call call = call_on(seq);
  const bool is_root = call.rank == root, in_place = is_in_place(send);
  if (auto done = try_shm_collective(seq, [&](ShmCollective& shm) {
        return shm_gatherv(shm, seq, send, {receive, type, &blocks}, root);
      }))
    return std::move(*done);
  if (may_run_directly(seq, table().direct.gatherv,
                       is_root ? blocks.counts.largest() * type->size : send.bytes()))
    return directly(seq, [&](Direct& direct) {
      gather_direct(direct, send, {receive, type, &blocks}, root);
    });
  const bool all_plain = (in_place || is_plain(send)) && (!is_root || type->contiguous);
  if (!all_plain) return gatherv_packed(call, send, receive, blocks, type, root);
  if (!is_root) return gatherv_linear(call, plain(send), nullptr, BlockLayout(), root);
  auto* all = static_cast<std::byte*>(receive);
  const BlockLayout block_layout(blocks, type->size);
  const Bytes block = part_of(all, block_layout[root]);
  if (!in_place && send.bytes() != block.size())
    return gatherv_packed(call, send, receive, blocks, type, root);
  return gatherv_linear(call, in_place ? ConstBytes(block) : plain(send), all, block_layout, root);
}

Task scatter(const CollSeq& seq, const types::ConstBuffer& send, const types::Buffer& receive,
             int root) {
  Call call = call_on(seq);
  const bool is_root = call.rank == root, in_place = receive.type == nullptr;
  const BlocksOut blocks{send.address, send.type, nullptr, send.count};
  if (call.size == 2) {
    if (auto done = try_shm_collective(
            seq, [&](ShmCollective& shm) { return shm_scatter_pair(shm, blocks, receive, root); }))
      return std::move(*done);
  }
  if (may_run_directly(seq, table().direct.scatter, is_root ? send.bytes() : receive.bytes()))
    return directly(seq, [&](Direct& direct) { scatter_direct(direct, blocks, receive, root); });
  const bool all_plain = (in_place || is_plain(receive)) && (!is_root || is_plain(send));
  if (!all_plain || (is_root && !in_place && send.bytes() != receive.bytes()))
    return scatter_packed(call, send, receive, root);
  const std::byte* all = is_root ? plain(send).data() : nullptr;
  Bytes own;
  if (!in_place)
    own = plain(receive);
  else
    own = {const_cast<std::byte*>(all) + static_cast<std::uint64_t>(root) * send.bytes(),
           send.bytes()};  // never written to
  return choose(table().scatter, call, own.size())(call, all, own, root);
}

Task scatterv(const CollSeq& seq, const void* send, const Blocks& blocks, const types::Type* type,
              const types::Buffer& receive, int root) {
  Call call = call_on(seq);
  const bool is_root = call.rank == root, in_place = receive.type == nullptr;
  if (call.size == 2) {
    const auto by_shm = [&](ShmCollective& shm) {
      return shm_scatter_pair(shm, {send, type, &blocks}, receive, root);
    };
    if (auto done = try_shm_collective(seq, by_shm)) return std::move(*done);
  }
  if (may_run_directly(seq, table().direct.scatterv,
                       is_root ? blocks.counts.largest() * type->size : receive.bytes()))
    return directly(seq, [&](Direct& direct) {
      scatter_direct(direct, {send, type, &blocks}, receive, root);
    });
  const bool all_plain = (in_place || is_plain(receive)) && (!is_root || type->contiguous);
  if (!all_plain) return scatterv_packed(call, send, blocks, type, receive, root);
  if (!is_root) return scatterv_linear(call, nullptr, BlockLayout(), plain(receive), root);
  const auto* all = static_cast<const std::byte*>(send);
  const BlockLayout block_layout(blocks, type->size);
  const ConstBytes block = part_of(all, block_layout[root]);
  if (!in_place && receive.bytes() != block.size())
    return scatterv_packed(call, send, blocks, type, receive, root);
  const Bytes own = in_place ? Bytes(const_cast<std::byte*>(block.data()), block.size())
                             : plain(receive);  // in place, never written to
  return scatterv_linear(call, all, block_layout, own, root);
}

}  // namespace shim::coll
